/** How projects look in answers. The console takes its types from here. */
import { z } from 'zod';
import { projectSettings, uuid } from '../../lab/gns3-file/topology-schema.js';

export const project = z.strictObject({
  ...projectSettings.shape,
  filename: z.string(),
  path: z.string(),
  project_id: uuid,
  status: z.enum(['opened', 'closed']),
});
export type ProjectShape = z.output<typeof project>;
