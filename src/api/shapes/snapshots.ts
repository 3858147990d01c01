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
