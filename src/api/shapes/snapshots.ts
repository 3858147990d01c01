/** How snapshots look in answers. The console takes its types from here. */
import { z } from 'zod';
import { uuid } from '../../lab/gns3-file/topology-schema.js';

export const snapshotFacts = {
  snapshot_id: uuid,
  name: z.string(),
  created_at: z.int(),
  description: z.string(),
  filename: z.string(),
  project_id: uuid,
};
export const snapshot = z.strictObject(snapshotFacts);
export type SnapshotShape = z.output<typeof snapshot>;

const changes = z.strictObject({
  added: z.array(z.string()),
  removed: z.array(z.string()),
  changed: z.array(z.string()),
});
export const comparison = z.strictObject({
  settings: z.array(z.string()),
  nodes: changes,
  links: changes,
  drawings: changes,
  files: changes,
});
export type ComparisonShape = z.output<typeof comparison>;

const size = z.int().nullable();
/** The lines of a file that have changed: each begins with a space, `-` or `+`. */
export const fileChange = z.strictObject({
  path: z.string(),
  kind: z.enum(['text', 'binary', 'large']),
  /** In octets; null where there is no such file. */
  before: size,
  after: size,
  added: z.int(),
  removed: z.int(),
  hunks: z.array(z.strictObject({ before: z.int(), after: z.int(), lines: z.array(z.string()) })),
  /** Whether long lines or a long rest are left out. */
  is_cut: z.boolean(),
});
export type FileChangeShape = z.output<typeof fileChange>;
