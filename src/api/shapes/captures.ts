/** How capture files look in answers. The console takes its types from here. */
import { z } from 'zod';
import { uuid } from '../../lab/gns3-file/topology-schema.js';

const time = z.string().nullable();

export const captureFile = z.strictObject({
  first_packet_at: time,
  format: z.enum(['pcap', 'pcapng', 'unknown']),
  last_packet_at: time,
  link_id: z.string().nullable(),
  link_type: z.int().nullable(),
  modified_at: z.string(),
  name: z.string(),
  packets: z.int().nullable(),
  size: z.int(),
  state: z.enum(['running', 'finished']),
});

export const projectCaptureFile = z.strictObject({
  ...captureFile.shape,
  project_id: uuid,
  project_name: z.string(),
});
export type ProjectCaptureShape = z.output<typeof projectCaptureFile>;
