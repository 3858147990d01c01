/** Jobs: long work on a project, its progress, and its cancellation. */
import { z } from 'zod';
import { empty, json } from '../http/answer.js';
import { route, type Route } from '../http/route.js';
import { uuid } from '../lab/gns3-file/topology-schema.js';
import type { Jobs } from '../snapshots/jobs.js';
import { names } from './schemas.js';

const tag = 'Jobs';

const job = z.strictObject({
  job_id: uuid,
  project_id: uuid,
  kind: z.string(),
  subject: z.string(),
  state: z.enum(['waiting', 'running']),
  done: z.int(),
  total: z.int(),
  started_at: z.string(),
});

export function jobRoutes(jobs: Jobs): Route[] {
  const all = '/v2/projects/{project_id}/jobs';
  return [
    route({
      method: 'GET',
      path: all,
      tag,
      access: { right: 'projects:read', project: 'project_id' },
      summary: 'List the snapshots, restores, exports, imports and copies that are under way',
      params: names('project_id'),
      answers: { 200: z.array(job) },
      handle: ({ params }) => json(200, jobs.of(params.project_id)),
    }),
    route({
      method: 'DELETE',
      path: `${all}/{job_id}`,
      tag,
      access: { right: 'projects:write', project: 'project_id' },
      summary: 'Cancel a job: its request is refused, and nothing has changed',
      params: names('project_id', 'job_id'),
      answers: { 204: null },
      handle: ({ params }) => {
        jobs.cancel(params.project_id, params.job_id);
        return empty(204);
      },
    }),
  ];
}
