/** How the examination of the host looks in answers. The console takes its type from here. */
import { z } from 'zod';

const level = z.enum(['ok', 'note', 'warning', 'failure']);
export const examination = z.strictObject({
  /** The level of the worst check. */
  level,
  checks: z.array(
    z.strictObject({
      id: z.string(),
      level,
      found: z.string(),
      means: z.string().optional(),
      repair: z.string().optional(),
    }),
  ),
});
export type ExaminationShape = z.output<typeof examination>;
