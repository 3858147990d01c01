/** The paths of the Unix sockets of an IOU node. The memo of its program keeps them, too. */
import { z } from 'zod';

export const netioSockets = z.object({
  bridge: z.string(),
  image: z.string(),
  /** The path at which the engine finds the socket of the image. */
  peer: z.string(),
  /** The folders of a confined image, which has them for itself. */
  own: z
    .object({
      folder: z.string(),
      /** The image's part of the folder, and where the image sees it. */
      shown: z.object({ path: z.string(), at: z.string() }),
    })
    .optional(),
});

export type NetioSockets = z.infer<typeof netioSockets>;
