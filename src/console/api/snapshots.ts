/** Snapshots of labs. */
import { segment, type Call } from './call.js';

const all = (projectId: string): string => `v2/projects/${segment(projectId)}/snapshots`;

export const createSnapshot = (projectId: string, name: string): Call<unknown> => ({
  method: 'POST',
  path: all(projectId),
  body: { name },
});
