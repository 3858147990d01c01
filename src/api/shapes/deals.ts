/** How dealt labs look in answers. The console takes its types from here. */
import { z } from 'zod';
import { uuid } from '../../lab/gns3-file/topology-schema.js';

export const dealtLab = z.strictObject({
  project_id: uuid,
  name: z.string(),
  /** So many members have a copy. */
  copies: z.int(),
});
export type DealtLabShape = z.output<typeof dealtLab>;

export const dealtCopy = z.strictObject({
  member: z.string(),
  user_id: uuid,
  project_id: uuid.nullable(),
  name: z.string().nullable(),
  state: z.enum(['none', 'closed', 'open', 'running']),
  last_used_at: z.iso.datetime().nullable(),
  ends_at: z.iso.datetime().nullable(),
  problem: z.string().nullable(),
});
export type DealtCopyShape = z.output<typeof dealtCopy>;
