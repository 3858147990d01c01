/** Consoles of nodes: as WebSockets, and their reset. */
import { z } from 'zod';
import { refusals } from '../base/errors/errors.js';
import { empty } from '../http/answer.js';
import type { RouteAccess } from '../http/route-access.js';
import { route, socketRoute, type Route, type SocketRoute } from '../http/route.js';
import type { Controller } from '../lab/controller.js';
import { PROGRAM_KINDS } from '../lab/kinds/node-kinds.js';
import type { FarNode } from '../lab/far-node.js';
import { findNode as findStoredNode } from '../lab/topology/nodes.js';
import type { ConsoleSeat } from '../run/consoles/console-hub.js';
import type { LocalCompute } from '../run/local-compute.js';
import { ProgramNode } from '../run/nodes/program-node.js';
import { checkId, findNode } from './compute-ids.js';
import { nodesPath } from './compute-nodes.js';
import { checkFarConsole, isTextConsole, openFarConsole } from './far-consoles.js';
import { names } from './schemas.js';
import { consoleOrder, type ConsoleNewsShape } from './shapes/consoles.js';

const tag = 'Consoles';
const one = names('project_id', 'node_id');
const all = names('project_id');
const CUT = 1001;

const attendance = z.object({
  /** A watcher types nothing, and has no window. */
  mode: z.enum(['use', 'watch']).default('use'),
  /** With `yes`, frames of text are JSON: who else is here, and the size of the client's window. */
  news: z.enum(['yes', 'no']).default('no'),
});

interface NodePath {
  readonly project_id: string;
  readonly node_id: string;
}

interface Consoles {
  readonly routes: Route[];
  readonly sockets: SocketRoute[];
}

export function consoleRoutes({ projects }: Controller, compute: LocalCompute): Consoles {
  /** The node of an open project; undefined for a node that is no program. */
  const labNode = ({ project_id: id, node_id: nodeId }: NodePath): ProgramNode | undefined => {
    findStoredNode(projects.find(id).topology, nodeId);
    return programOf(compute.projects.nodeOf(id, nodeId));
  };
  const farNode = ({ project_id: id, node_id: nodeId }: NodePath): FarNode | undefined =>
    projects.find(id).topology.run.farNode?.(nodeId);
  const base = '/v2/projects/{project_id}/nodes';
  return {
    routes: [
      route({
        method: 'POST',
        path: `${base}/console/reset`,
        tag,
        access: { right: 'run', project: 'project_id' },
        summary: 'Cut the connections to the consoles of all nodes, and empty their scrollback',
        params: all,
        answers: { 204: null },
        handle: async ({ params }) => {
          const { nodes, run } = projects.find(params.project_id).topology;
          const ids = [...nodes.ids()];
          const found = ids.map((id) => compute.projects.nodeOf(params.project_id, id));
          const far = ids.flatMap((id) => run.farNode?.(id) ?? []);
          await Promise.all([
            ...found.flatMap((node) => programOf(node)?.resetConsole() ?? []),
            ...far.filter(({ isReady, stored }) => isReady && isTextConsole(stored)).map(resetFarConsole),
          ]);
          return empty(204);
        },
      }),
      route({
        method: 'POST',
        path: `${base}/{node_id}/console/reset`,
        tag,
        access: { right: 'run', project: 'project_id' },
        summary: 'Cut the connections to the console of a node, and empty its scrollback',
        params: one,
        answers: { 204: null },
        handle: async ({ params }) => {
          const far = farNode(params);
          if (far === undefined) await labNode(params)?.resetConsole();
          else await resetFarConsole(far);
          return empty(204);
        },
      }),
      ...PROGRAM_KINDS.map((kind) =>
        route({
          method: 'POST',
          path: `${nodesPath(kind)}/{node_id}/console/reset`,
          tag,
          access: { right: 'compute' },
          summary: `Cut the connections to the console of ${kind.title}, and empty its scrollback`,
          params: one,
          answers: { 204: null },
          handle: async ({ params }) => {
            await programOf(findNode(compute, kind, params))?.resetConsole();
            return empty(204);
          },
        }),
      ),
    ],
    sockets: [
      consoleSocket(
        `${base}/{node_id}/console/ws`,
        { right: 'console', project: 'project_id' },
        'Use the console of a node',
        labNode,
        farNode,
      ),
      ...PROGRAM_KINDS.map((kind) =>
        consoleSocket(
          `${nodesPath(kind)}/{node_id}/console/ws`,
          { right: 'compute' },
          `Use the console of ${kind.title}`,
          (params) => {
            checkId('Project', params.project_id);
            return programOf(findNode(compute, kind, params));
          },
        ),
      ),
    ],
  };
}

function consoleSocket(
  path: string,
  access: RouteAccess,
  summary: string,
  find: (params: NodePath) => ProgramNode | undefined,
  findFar: (params: NodePath) => FarNode | undefined = () => undefined,
): SocketRoute {
  return socketRoute({
    path,
    tag,
    access,
    summary,
    params: one,
    query: attendance,
    check: (params) => {
      const far = findFar(params);
      if (far !== undefined) {
        checkFarConsole(far);
        return;
      }
      const node = find(params);
      if (node === undefined) throw refusals.consoleMissing(params.node_id, 'telnet');
      node.checkConsole();
    },
    openDuplex: ({ params, query: { mode, news }, caller }, connection) => {
      const far = findFar(params);
      if (far !== undefined) return openFarConsole(far, { mode, news }, connection);
      const node = find(params);
      if (node === undefined) throw refusals.nodeUnknown(params.node_id);
      const seat = node.console.join({
        name: caller.name,
        isWatching: mode === 'watch',
        send: (bytes) => connection.send(bytes),
        ...(news === 'yes' && {
          tell: ({ isRunning, others }) => {
            const told: ConsoleNewsShape = {
              running: isRunning,
              others: others.map(({ name, isWatching }) => ({ name, mode: isWatching ? 'watch' : 'use' })),
            };
            return connection.sendText(JSON.stringify(told));
          },
        }),
        cut: () => {
          connection.end(CUT, 'the console was reset or closed, or this client did not read');
        },
      });
      return {
        received: (bytes, isText) => {
          if (isText && news === 'yes') obey(seat, bytes);
          else seat.type(bytes);
        },
        closed: () => {
          seat.leave();
        },
      };
    },
  });
}

async function resetFarConsole(node: FarNode): Promise<void> {
  await node.ask('POST', `${node.path}/console/reset`);
}

/** An order that is none is ignored. */
function obey(seat: ConsoleSeat, bytes: Uint8Array): void {
  const order = consoleOrder.safeParse(parsed(Buffer.from(bytes).toString()));
  if (order.success) seat.resize(order.data.columns, order.data.rows);
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

function programOf(node: unknown): ProgramNode | undefined {
  return node instanceof ProgramNode ? node : undefined;
}
