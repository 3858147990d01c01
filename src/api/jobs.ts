/** Jobs: long work on a project, its progress, and its cancellation. */
import { z } from 'zod';
import { empty, json } from '../http/answer.js';
import { route, type Route } from '../http/route.js';
import type { Jobs } from '../snapshots/jobs.js';
import { names, nothing } from './schemas.js';
import { endedJob, job, oneJob } from './shapes/jobs.js';

const tag = 'Jobs';

export function jobRoutes(jobs: Jobs): Route[] {
  const all = '/v2/projects/{project_id}/jobs';
  return [
    route({
      method: 'GET',
      path: '/v2/jobs',
      tag,
      access: { right: 'projects:read' },
      summary: 'List the jobs of all projects that one may see',
      params: nothing,
      answers: { 200: z.array(job) },
      handle: ({ exchange: { caller } }) =>
        json(
          200,
          jobs.list().filter(({ project_id: id }) => caller.grantOn(id) !== undefined),
        ),
    }),
    route({
      method: 'GET',
      path: '/v2/jobs/ended',
      tag: 'Jobs',
      access: { right: 'projects:read' },
      summary: 'List the jobs that have ended last since the start of the server, the newest first',
      params: nothing,
      answers: { 200: z.array(endedJob) },
      handle: ({ exchange: { caller } }) =>
        json(
          200,
          jobs.ended().filter(({ project_id: id }) => caller.grantOn(id) !== undefined),
        ),
    }),
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
      method: 'GET',
      path: `${all}/{job_id}`,
      tag,
      access: { right: 'projects:read', project: 'project_id' },
      summary:
        'Show one job, also when it has ended: its outcome, and the result of one whose request has begun it only',
      params: names('project_id', 'job_id'),
      answers: { 200: oneJob },
      handle: ({ params }) => json(200, jobs.find(params.project_id, params.job_id)),
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
