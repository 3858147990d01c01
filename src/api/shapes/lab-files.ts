/** Lab files and their plans, as answers have them. The console takes its types from here. */
import { z } from 'zod';
import { openObject } from '../../lab/gns3-file/topology-schema.js';

const change = z.strictObject({
  action: z.enum(['create', 'change', 'remove', 'start', 'stop']),
  what: z.enum(['node', 'link', 'drawing', 'file', 'capture']),
  name: z.string(),
  from: z.unknown(),
  to: z.unknown(),
  cost: z.enum(['live', 'restart', 'recreate']),
});
export const labPlan = z.strictObject({ digest: z.string(), changes: z.array(change) });
export type LabPlanShape = z.output<typeof labPlan>;

export const labText = z.strictObject({
  /** Null when it is no YAML. Files of nodes are as they are written: paths, or contents. */
  lab_file: openObject.nullable(),
  faults: z.array(z.strictObject({ line: z.int(), message: z.string() })),
});
export type LabTextShape = z.output<typeof labText>;
