/** How images look in answers. The console takes its types from here. */
import { z } from 'zod';

export const image = z.strictObject({
  filename: z.string(),
  filesize: z.int(),
  md5sum: z.string().nullable(),
  path: z.string(),
});
export type ImageShape = z.output<typeof image>;
