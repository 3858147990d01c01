/** An interface of the host, as clouds have it among their properties. */
import { z } from 'zod';

export const hostInterface = z.strictObject({
  name: z.string().min(1).max(255),
  type: z.enum(['ethernet', 'tap']),
  /** Such as those of bridges and of other programs: a cloud does not use them unless it is told to. */
  special: z.boolean(),
});
export type CloudInterface = z.infer<typeof hostInterface>;
