/** How the nodes and links of a lab run, as answers have it. */
import { z } from 'zod';
import { uuid } from '../../lab/gns3-file/topology-schema.js';

const report = z.strictObject({
  /** The compute of a node. */
  compute_id: z.string().optional(),
  /** A sentence about what is not running. */
  reason: z.string().optional(),
  state: z.enum(['running', 'unreachable', 'restoring', 'lost']),
});

/** A node that is stopped as it should be is running as it is wanted, too. */
export const projectRun = z.strictObject({
  links: z.record(uuid, report),
  nodes: z.record(uuid, report),
});
