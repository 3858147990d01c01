/** Jobs of all labs. */
import type { EndedJobShape, JobShape } from '../../api/shapes/jobs.js';
import { segment, type Call } from './call.js';

export const listJobs = (): Call<JobShape[]> => ({ method: 'GET', path: 'v2/jobs' });

export const listEndedJobs = (): Call<EndedJobShape[]> => ({ method: 'GET', path: 'v2/jobs/ended' });

export const cancelJob = ({ project_id: projectId, job_id: id }: JobShape): Call<void> => ({
  method: 'DELETE',
  path: `v2/projects/${segment(projectId)}/jobs/${segment(id)}`,
});
