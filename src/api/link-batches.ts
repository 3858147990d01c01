/** Many changes of links and of their captures in one call, with a result for each. */
import { z } from 'zod';
import { Refusal, refusals } from '../base/errors/errors.js';
import { jsonText } from '../http/answer.js';
import { INTERNAL_ERROR } from '../http/error-body.js';
import { route, type Route } from '../http/route.js';
import { captureSettings } from '../captures/capture-settings.js';
import type { ProjectCaptures, LinkCaptures } from '../captures/link-captures.js';
import type { Controller } from '../lab/controller.js';
import type { Client } from '../lab/lab-run.js';
import { changeLink, deleteLink, makeLink } from '../lab/topology/links.js';
import type { Project } from '../lab/projects/project.js';
import { uuid } from '../lab/gns3-file/topology-schema.js';
import { changedLink, link, newLink } from './links.js';
import { names } from './schemas.js';

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

/** One change of a link; `run` returns its status, and the link if there is one afterwards. */
interface Step {
  readonly linkId: string | null;
  run(): Promise<{ readonly status: number; readonly link?: string }>;
}

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
        const texts: string[] = [];
        for (const [action, steps] of stepsOf(project, captures.of(project), exchange, body)) {
          texts.push(...(await Promise.all(steps.map((step) => resultOf(project, action, step)))));
        }
        return jsonText(200, `{"results":[${texts.join(',')}]}`);
      },
    }),
  ];
}

function stepsOf(
  project: Project,
  captures: LinkCaptures,
  client: Client,
  body: z.output<typeof batch>,
): [Action, Step[]][] {
  const shown = (id: string): { link?: string } => {
    const text = project.topology.links.published(id);
    return text === undefined ? {} : { link: text };
  };
  const each = (list: readonly string[] = [], run: (id: string) => ReturnType<Step['run']>): Step[] =>
    list.map((linkId) => ({ linkId, run: () => run(linkId) }));
  return [
    [
      'delete',
      each(body.delete, async (id) => {
        await project.change((topology, transaction) => {
          deleteLink(topology, transaction, id);
        });
        return { status: 204 };
      }),
    ],
    [
      'create',
      (body.create ?? []).map((wanted) => ({
        linkId: null,
        run: async () => ({ status: 201, link: await makeLink(project, client, wanted) }),
      })),
    ],
    [
      'update',
      (body.update ?? []).map(({ link_id: linkId, ...wanted }) => ({
        linkId,
        run: async () => ({ status: 201, link: await changeLink(project, client, linkId, wanted) }),
      })),
    ],
    [
      'stop_capture',
      each(body.stop_capture, async (id) => {
        await captures.stop(id);
        return { status: 201, ...shown(id) };
      }),
    ],
    [
      'start_capture',
      (body.start_capture ?? []).map(({ link_id: linkId, ...settings }) => ({
        linkId,
        run: async () => {
          const isNews = await captures.ensure(linkId, settings);
          return { status: isNews ? 201 : 200, ...shown(linkId) };
        },
      })),
    ],
  ];
}

async function resultOf(project: Project, action: Action, step: Step): Promise<string> {
  const { linkId } = step;
  try {
    const { status, link: text } = await step.run();
    const id = linkId ?? (text === undefined ? null : idOf(text));
    const shown = text === undefined ? '' : `"link":${text},`;
    return `{"action":"${action}",${shown}"link_id":${JSON.stringify(id)},"status":${status}}`;
  } catch (error) {
    const { message } = error instanceof Error ? error : { message: String(error) };
    const { code, status } = error instanceof Refusal ? error : INTERNAL_ERROR;
    // A fault of this server goes into its log, too.
    if (status === 500) project.warn(`${action} of a link failed: ${message}`);
    return JSON.stringify({ action, code, link_id: linkId, message, status });
  }
}

function idOf(linkText: string): string {
  return (JSON.parse(linkText) as { link_id: string }).link_id;
}
