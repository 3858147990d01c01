/** How the end times of labs look in answers. The console takes its types from here. */
import { z } from 'zod';
import { uuid } from '../../lab/gns3-file/topology-schema.js';

const time = z.iso.datetime().nullable();

export const endTime = z.strictObject({
  project_id: uuid,
  name: z.string(),
  ends_at: time,
  idle_after: z.number().nullable(),
  snapshot: z.boolean(),
  is_warned: z.boolean(),
  last_used_at: time,
  idle_seconds: z.int().nullable(),
  /** The most that the caller may set, in seconds. */
  longest: z.strictObject({ ends_in: z.number().nullable(), idle_after: z.number().nullable() }),
});
export type EndTimeShape = z.output<typeof endTime>;
