/** How images look in answers. The console takes its types from here. */
import { z } from 'zod';

export const image = z.strictObject({
  filename: z.string(),
  filesize: z.int(),
  md5sum: z.string().nullable(),
  path: z.string(),
});
export type ImageShape = z.output<typeof image>;

/** The nodes that use each image, by its path, and the names of the projects. */
export const imageUses = z.record(
  z.string(),
  z.strictObject({ nodes: z.int(), projects: z.array(z.string()) }),
);
export type ImageUsesShape = z.output<typeof imageUses>;
