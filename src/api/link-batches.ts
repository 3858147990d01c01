/** Many changes of links and of their captures in one call, with a result for each. */
import { z } from 'zod';
import { refusals } from '../base/errors/errors.js';
import { jsonText } from '../http/answer.js';
import { route, type Route } from '../http/route.js';
import { captureSettings } from '../captures/capture-settings.js';
import type { ProjectCaptures, LinkCaptures } from '../captures/link-captures.js';
import type { Controller } from '../lab/controller.js';
import type { Client } from '../lab/lab-run.js';
import { changeLink, deleteLink, makeLink } from '../lab/topology/links.js';
import type { Project } from '../lab/projects/project.js';
import { uuid } from '../lab/gns3-file/topology-schema.js';
import { batchResults, stepForEach, type BatchSteps } from './batch-results.js';
import { changedLink, newLink } from './links.js';
import { names } from './schemas.js';
import { link } from './shapes/links.js';

const MOST = 2048;
const ids = z.array(uuid).max(MOST).optional();

const batch = z.strictObject({
  create: z.array(newLink).max(MOST).optional(),
  delete: ids,
  start_capture: z
    .array(z.strictObject({ ...captureSettings.shape, link_id: uuid }))
    .max(MOST)
    .optional(),
  stop_capture: ids,
  update: z
    .array(z.strictObject({ ...changedLink.shape, link_id: uuid }))
    .max(MOST)
    .optional(),
});

const results = z.strictObject({
  results: z.array(
    z.strictObject({
      action: z.enum(['delete', 'create', 'update', 'stop_capture', 'start_capture']),
      code: z.string().optional(),
      link: link.optional(),
      link_id: z.string().nullable(),
      message: z.string().optional(),
      status: z.int(),
    }),
  ),
});

type Action = z.infer<typeof results>['results'][number]['action'];

export function linkBatchRoutes({ projects }: Controller, captures: ProjectCaptures): Route[] {
  return [
    route({
      method: 'POST',
      path: '/v2/projects/{project_id}/links/batch',
      tag: 'Links',
      access: { right: 'projects:write', project: 'project_id' },
      summary:
        'Delete, create and change links, stop and start captures, in this order; each has a result of its own',
      params: names('project_id'),
      body: batch,
      answers: { 200: results },
      handle: async ({ params, body, exchange }) => {
        const project = projects.find(params.project_id);
        if (!project.isOpen) throw refusals.projectClosed();
        const steps = stepsOf(project, captures.of(project), exchange, body);
        return jsonText(200, await batchResults(project, 'link', steps));
      },
    }),
  ];
}

function stepsOf(
  project: Project,
  captures: LinkCaptures,
  client: Client,
  body: z.output<typeof batch>,
): BatchSteps<Action>[] {
  const shown = (id: string): { text?: string } => {
    const text = project.topology.links.published(id);
    return text === undefined ? {} : { text };
  };
  return [
    [
      'delete',
      stepForEach(body.delete, async (id) => {
        await project.change((topology, transaction) => {
          deleteLink(topology, transaction, id);
        });
        return { status: 204 };
      }),
    ],
    [
      'create',
      (body.create ?? []).map((wanted) => ({
        id: null,
        run: async () => ({ status: 201, text: await makeLink(project, client, wanted) }),
      })),
    ],
    [
      'update',
      (body.update ?? []).map(({ link_id: id, ...wanted }) => ({
        id,
        run: async () => ({ status: 201, text: await changeLink(project, client, id, wanted) }),
      })),
    ],
    [
      'stop_capture',
      stepForEach(body.stop_capture, async (id) => {
        await captures.stop(id);
        return { status: 201, ...shown(id) };
      }),
    ],
    [
      'start_capture',
      (body.start_capture ?? []).map(({ link_id: id, ...settings }) => ({
        id,
        run: async () => {
          const isNews = await captures.ensure(id, settings);
          return { status: isNews ? 201 : 200, ...shown(id) };
        },
      })),
    ],
  ];
}
