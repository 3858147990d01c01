/** How drawings look in answers. The console takes its types from here. */
import { z } from 'zod';
import { rotation, uuid } from '../../lab/gns3-file/topology-schema.js';

export const drawing = z.strictObject({
  drawing_id: uuid,
  locked: z.boolean(),
  project_id: uuid,
  rotation,
  svg: z.string(),
  x: z.int(),
  y: z.int(),
  z: z.int(),
});
export type DrawingShape = z.output<typeof drawing>;
