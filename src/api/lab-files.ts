/** The lab file of a project: what was applied, the lab as it is in that form, plans, and their application. */
import { z } from 'zod';
import { json, jsonText } from '../http/answer.js';
import { route, type Route } from '../http/route.js';
import { SlicedText } from '../http/sliced-text.js';
import type { Controller } from '../lab/controller.js';
import { uuid } from '../lab/gns3-file/topology-schema.js';
import { labFile } from '../lab/lab-file/lab-file-form.js';
import { LONGEST_LAB_TEXT } from '../lab/lab-file/lab-text-tasks.js';
import type { LabFiles } from '../operations/lab-files/lab-files.js';
import { names, nothing } from './schemas.js';
import { labPlan, labText } from './shapes/lab-files.js';

const tag = 'Lab files';
const YAML = 'application/yaml';
const flag = z
  .enum(['yes', 'no'])
  .default('no')
  .transform((value) => value === 'yes');

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
      method: 'GET',
      path: `${path}/text`,
      tag,
      summary: 'Write the open lab as a lab file in YAML',
      params,
      access: { right: 'projects:read', project: 'project_id' },
      answers: { 200: { media: YAML } },
      handle: async ({ params: { project_id: id }, exchange }) => {
        const text = await labFiles.drawnText(projects.find(id));
        return exchange.streamTail(YAML, new SlicedText([text].values()));
      },
    }),
    route({
      method: 'POST',
      path: '/v2/lab-files/read',
      tag,
      summary:
        'Read a lab file in YAML: the body that its application takes, and its faults with their lines',
      params: nothing,
      access: { right: 'projects:read' },
      body: z.strictObject({ text: z.string().max(LONGEST_LAB_TEXT) }),
      answers: { 200: labText },
      handle: async ({ body: { text } }) => jsonText(200, await labFiles.read(text)),
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
      checkBody: (body) => labFiles.check(body),
      answers: { 200: labPlan, 202: z.strictObject({ ...labPlan.shape, job_id: uuid }) },
      handle: async ({ params: { project_id: id }, query, body, exchange }) => {
        const project = projects.find(id);
        if (query.dry_run) {
          const { digest, changes } = await labFiles.plan(project, body, query.prune);
          return json(200, { digest, changes });
        }
        const options = { prunes: query.prune, allowsRecreation: query.allow_recreate, digest: query.plan };
        const { plan: applied, jobId } = await labFiles.apply(project, body, options);
        exchange.jobId = jobId;
        return json(202, { digest: applied.digest, changes: applied.changes, job_id: jobId });
      },
    }),
  ];
}
