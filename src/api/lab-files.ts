/** The lab file of a project: what was applied, the lab as it is in that form, plans, and their application. */
import { z } from 'zod';
import { json } from '../http/answer.js';
import { route, type Route } from '../http/route.js';
import type { Controller } from '../lab/controller.js';
import { uuid } from '../lab/gns3-file/topology-schema.js';
import { labFile } from '../lab/lab-file/lab-file-form.js';
import type { LabFiles } from '../operations/lab-files/lab-files.js';
import { names } from './schemas.js';

const tag = 'Lab files';
const flag = z
  .enum(['yes', 'no'])
  .default('no')
  .transform((value) => value === 'yes');

const change = z.strictObject({
  action: z.enum(['create', 'change', 'remove', 'start', 'stop']),
  what: z.enum(['node', 'link', 'drawing', 'file', 'capture']),
  name: z.string(),
  from: z.unknown(),
  to: z.unknown(),
  cost: z.enum(['live', 'restart', 'recreate']),
});
const plan = z.strictObject({ digest: z.string(), changes: z.array(change) });
const state = z.strictObject({
  lab_file: labFile.nullable(),
  state: z.enum(['none', 'applied', 'under_way', 'unfinished']),
  reason: z.string().nullable(),
});

export function labFileRoutes({ projects }: Controller, labFiles: LabFiles): Route[] {
  const path = '/v2/projects/{project_id}/lab-file';
  const params = names('project_id');
  return [
    route({
      method: 'GET',
      path,
      tag,
      summary: 'Show the lab file that was applied last; with drawn=yes, the open lab in that form',
      params,
      access: { right: 'projects:read', project: 'project_id' },
      query: z.strictObject({ drawn: flag }),
      answers: { 200: state },
      handle: async ({ params: { project_id: id }, query: { drawn } }) => {
        const project = projects.find(id);
        const shown = labFiles.state(project);
        return json(200, drawn ? { ...shown, lab_file: await labFiles.drawn(project) } : shown);
      },
    }),
    route({
      method: 'PUT',
      path,
      tag,
      summary: 'Apply a lab file to the open project as a job; with dry_run=yes, answer the plan alone',
      params,
      // A file starts nodes and captures, too; who may edit a project may do both.
      access: { right: 'projects:write', project: 'project_id' },
      query: z.strictObject({
        allow_recreate: flag,
        dry_run: flag,
        plan: z.string().max(64).optional(),
        prune: flag,
      }),
      body: labFile,
      answers: { 200: plan, 202: z.strictObject({ ...plan.shape, job_id: uuid }) },
      handle: async ({ params: { project_id: id }, query, body }) => {
        const project = projects.find(id);
        if (query.dry_run) {
          const { digest, changes } = await labFiles.plan(project, body, query.prune);
          return json(200, { digest, changes });
        }
        const options = { prunes: query.prune, allowsRecreation: query.allow_recreate, digest: query.plan };
        const { plan: applied, jobId } = await labFiles.apply(project, body, options);
        return json(202, { digest: applied.digest, changes: applied.changes, job_id: jobId });
      },
    }),
  ];
}
