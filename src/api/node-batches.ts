/** Many changes of nodes in one call, with a result for each. */
import { z } from 'zod';
import { refusals } from '../base/errors/errors.js';
import type { NodeFolders } from '../files/node-files/node-folders.js';
import { jsonText } from '../http/answer.js';
import type { Caller } from '../http/caller.js';
import { checkAccess } from '../http/route-access.js';
import { route, type Route } from '../http/route.js';
import type { Controller } from '../lab/controller.js';
import { uuid } from '../lab/gns3-file/topology-schema.js';
import type { NodeAction } from '../lab/lab-run.js';
import type { Project } from '../lab/projects/project.js';
import { actOnNode } from '../lab/topology/nodes.js';
import { batchResults, stepForEach, type BatchSteps } from './batch-results.js';
import { changeOfNode, newNode } from './nodes.js';
import { names } from './schemas.js';
import { node } from './shapes/nodes.js';

const MOST = 1024;
/** So many: each looks for a number, a name and a console that are free. */
const MOST_NEW = 256;
const ids = z.array(uuid).max(MOST).optional();

const batch = z.strictObject({
  create: z.array(newNode).max(MOST_NEW).optional(),
  delete: ids,
  reload: ids,
  start: ids,
  stop: ids,
  update: z.array(changeOfNode).max(MOST).optional(),
});

const results = z.strictObject({
  results: z.array(
    z.strictObject({
      action: z.enum(['delete', 'create', 'update', 'stop', 'start', 'reload']),
      code: z.string().optional(),
      message: z.string().optional(),
      node: node.optional(),
      node_id: z.string().nullable(),
      status: z.int(),
    }),
  ),
});

type Action = z.infer<typeof results>['results'][number]['action'];

export function nodeBatchRoutes({ projects, symbols }: Controller, folders: NodeFolders): Route[] {
  return [
    route({
      method: 'POST',
      path: '/v2/projects/{project_id}/nodes/batch',
      tag: 'Nodes',
      access: { right: 'projects:write', project: 'project_id' },
      summary:
        'Delete, create, change, stop, start and reload nodes, in this order; each has a result of its own',
      params: names('project_id'),
      body: batch,
      answers: { 200: results },
      handle: async ({ params, body, exchange: { caller } }) => {
        const project = projects.find(params.project_id);
        if (!project.isOpen) throw refusals.projectClosed();
        checkRuns(caller, params, body);
        const changes = [...(body.create ?? []), ...(body.update ?? [])];
        for (const symbol of new Set(changes.map((change) => change.symbol ?? '')))
          await symbols.size(symbol);
        return jsonText(200, await batchResults(project, 'node', stepsOf(project, folders, body)));
      },
    }),
  ];
}

/** Callers who may change a lab need not have the right to let it run. */
function checkRuns(
  caller: Caller,
  params: Readonly<Record<string, string>>,
  { start, stop, reload }: z.output<typeof batch>,
): void {
  if (start === undefined && stop === undefined && reload === undefined) return;
  checkAccess(caller, { right: 'run', project: 'project_id' }, params);
}

function stepsOf(project: Project, folders: NodeFolders, body: z.output<typeof batch>): BatchSteps<Action>[] {
  const act = (action: NodeAction) => async (id: string) => {
    const topology = await project.change((open) => open);
    return { status: 200, text: await actOnNode(topology, id, action) };
  };
  return [
    [
      'delete',
      stepForEach(body.delete, async (id) => {
        await folders.remove(project, id);
        return { status: 204 };
      }),
    ],
    [
      'create',
      (body.create ?? []).map((wanted) => ({
        id: wanted.node_id ?? null,
        run: async () => ({ status: 201, text: await folders.make(project, wanted) }),
      })),
    ],
    [
      'update',
      (body.update ?? []).map(({ node_id: id, ...wanted }) => ({
        id,
        run: async () => {
          await folders.change(project, id, wanted);
          // Texts of many nodes would make an answer of megabytes; notifications have them.
          return { status: 200 };
        },
      })),
    ],
    ['stop', stepForEach(body.stop, act('stop'))],
    ['start', stepForEach(body.start, act('start'))],
    ['reload', stepForEach(body.reload, act('reload'))],
  ];
}
