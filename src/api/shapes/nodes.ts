/** How nodes look in answers. The console takes its types from here. */
import { z } from 'zod';
import {
  consoleType,
  label,
  nodeType,
  openObject,
  tcpPort,
  uuid,
} from '../../lab/gns3-file/topology-schema.js';
import { customAdapters } from '../../lab/kinds/custom-adapters.js';
import { port } from '../../lab/kinds/port.js';

/** The 27 keys of GNS3 and no more, because stock clients refuse unknown keys. */
export const node = z.strictObject({
  command_line: z.string().nullable(),
  compute_id: z.string(),
  console: tcpPort.nullable(),
  console_auto_start: z.boolean(),
  console_host: z.string(),
  console_type: consoleType,
  custom_adapters: customAdapters,
  first_port_name: z.string().nullable(),
  height: z.int(),
  label,
  locked: z.boolean(),
  name: z.string(),
  node_directory: z.string().nullable(),
  node_id: uuid,
  node_type: nodeType,
  port_name_format: z.string(),
  port_segment_size: z.int(),
  ports: z.array(port),
  project_id: uuid,
  properties: openObject,
  status: z.enum(['stopped', 'started', 'suspended']),
  symbol: z.string(),
  template_id: uuid.nullable(),
  width: z.int(),
  x: z.int(),
  y: z.int(),
  z: z.int(),
});
export type NodeShape = z.output<typeof node>;
