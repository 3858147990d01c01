/** Nodes on the compute interface: the same routes for each kind that this server runs. */
import { z } from 'zod';
import type { LocalCompute } from '../run/local-compute.js';
import type { NewComputeNode } from '../run/nodes/compute-node.js';
import { ProgramNode } from '../run/nodes/program-node.js';
import { docker } from '../lab/kinds/docker.js';
import { dynamips } from '../lab/kinds/dynamips.js';
import type { NodeKind, Properties } from '../lab/kinds/node-kind.js';
import { isProgramKind, SERVED_KINDS } from '../lab/kinds/node-kinds.js';
import { qemu } from '../lab/kinds/qemu.js';
import { empty, jsonText } from '../http/answer.js';
import { route, type Route } from '../http/route.js';
import { tcpPort, text, uuid } from '../lab/gns3-file/topology-schema.js';
import { checkId, findNode, findProject } from './compute-ids.js';
import { names } from './schemas.js';

const tag = 'Compute nodes';

const status = z.enum(['started', 'stopped', 'suspended']);
const name = text(1, 255);
const shownProgram = { command_line: z.string(), node_directory: z.string() };

/** The path of the nodes of a kind. */
export function nodesPath(kind: NodeKind): string {
  return `/v2/compute/projects/{project_id}/${kind.type}/nodes`;
}

const ACTIONS = ['start', 'stop', 'suspend', 'reload'] as const;
const DONE = { start: 'Start', stop: 'Stop', suspend: 'Suspend', reload: 'Stop and start' } as const;

/** The kinds that have a route of their own to go on with a suspended node. */
const RESUMED: readonly NodeKind[] = [dynamips, qemu];

/** The programs whose start answers without the node, as in the reference. */
const STARTED_SILENTLY: readonly NodeKind[] = [docker, dynamips];

export function computeNodeRoutes(compute: LocalCompute): Route[] {
  return SERVED_KINDS.flatMap((kind) => [
    ...routesOf(compute, kind),
    ...ACTIONS.map((action) => actionRoute(compute, kind, action)),
    ...(RESUMED.includes(kind) ? [resumeRoute(compute, kind)] : []),
  ]);
}

function routesOf(compute: LocalCompute, kind: NodeKind): Route[] {
  const path = nodesPath(kind);
  const one = names('project_id', 'node_id');
  const { title } = kind;
  const shown = shownNode(kind);
  const { newNode, changedNode } = requestsOf(kind);
  return [
    route({
      method: 'POST',
      path,
      tag,
      access: { right: 'compute' },
      summary: kind.alwaysRuns ? `Create and start ${title}` : `Create ${title}`,
      params: names('project_id'),
      body: newNode,
      answers: { 201: shown },
      handle: async ({ params, body }) => {
        const project = findProject(compute, params.project_id);
        await compute.checkAble(kind.type);
        await compute.checkImages(kind, body.properties);
        return jsonText(201, await project.createNode(kind, body));
      },
    }),
    route({
      method: 'GET',
      path: `${path}/{node_id}`,
      tag,
      access: { right: 'compute' },
      summary: `Show ${title}`,
      params: one,
      answers: { 200: shown },
      handle: ({ params }) => jsonText(200, findNode(compute, kind, params).text),
    }),
    route({
      method: 'PUT',
      path: `${path}/{node_id}`,
      tag,
      access: { right: 'compute' },
      summary: `Change ${title} while it runs`,
      params: one,
      body: changedNode,
      answers: { 200: shown },
      handle: async ({ params, body }) => {
        const node = findNode(compute, kind, params);
        await compute.checkImages(kind, body.properties);
        return jsonText(200, await node.update(body));
      },
    }),
    route({
      method: 'DELETE',
      path: `${path}/{node_id}`,
      tag,
      access: { right: 'compute' },
      summary: `Stop and remove ${title}`,
      params: one,
      answers: { 204: null },
      handle: async ({ params }) => {
        const project = findProject(compute, params.project_id);
        checkId('Node', params.node_id);
        await project.deleteNode(kind, params.node_id);
        return empty(204);
      },
    }),
    route({
      method: 'POST',
      path: `${path}/{node_id}/duplicate`,
      tag,
      access: { right: 'compute' },
      summary: isProgramKind(kind)
        ? `Copy the files of ${title} to another one that the controller has made`
        : `Show the copy of ${title}, which has no files`,
      params: one,
      body: z.strictObject({ destination_node_id: uuid }),
      answers: { 201: shown },
      handle: async ({ params, body }) => {
        const project = findProject(compute, params.project_id);
        checkId('Node', params.node_id);
        const copy = await project.copyFiles(kind, params.node_id, body.destination_node_id);
        return jsonText(201, copy.text);
      },
    }),
  ];
}

function resumeRoute(compute: LocalCompute, kind: NodeKind): Route {
  return route({
    method: 'POST',
    path: `${nodesPath(kind)}/{node_id}/resume`,
    tag,
    access: { right: 'compute' },
    summary: `Go on with ${kind.title} that is suspended`,
    params: names('project_id', 'node_id'),
    answers: { 204: null },
    handle: async ({ params }) => {
      const node = findNode(compute, kind, params);
      if (node.status === 'suspended') await node.start();
      return empty(204);
    },
  });
}

/** The start, stop and similar actions. Those of a switch change nothing, because it always runs. */
function actionRoute(compute: LocalCompute, kind: NodeKind, action: (typeof ACTIONS)[number]): Route {
  const isStart = action === 'start' && isProgramKind(kind);
  const inputs = isStart ? kind.startInputs : undefined;
  const showsNode = isStart && !STARTED_SILENTLY.includes(kind);
  return route({
    method: 'POST',
    path: `${nodesPath(kind)}/{node_id}/${action}`,
    tag,
    access: { right: 'compute' },
    summary: kind.alwaysRuns ? `Do nothing: ${kind.title} always runs` : `${DONE[action]} ${kind.title}`,
    params: names('project_id', 'node_id'),
    ...(inputs === undefined ? {} : { body: inputs }),
    answers: showsNode ? { 200: shownNode(kind) } : { 204: null },
    handle: async ({ params, body }) => {
      const node = findNode(compute, kind, params);
      if (inputs !== undefined && node instanceof ProgramNode) await node.start(body);
      else await node[action]();
      return showsNode ? jsonText(200, node.text) : empty(204);
    },
  });
}

function shownNode(kind: NodeKind): z.ZodType {
  const { console, console_type } = consoleFields(kind);
  const shownConsole =
    kind.consoleTypes.length > 0 ? { console: console.unwrap(), console_type: console_type.unwrap() } : {};
  const ownFields = {
    ...kind.shownProperties,
    ...shownConsole,
    ...(isProgramKind(kind) ? shownProgram : {}),
    ...(kind.type === 'cloud' ? { node_directory: shownProgram.node_directory } : {}),
  };
  return z.strictObject({ ...ownFields, name, node_id: uuid, project_id: uuid, status });
}

function consoleFields(kind: NodeKind) {
  return { console: tcpPort.nullable().optional(), console_type: z.enum(kind.consoleTypes).optional() };
}

/** A new node as the body of its request tells it. */
type NodeBody = Omit<NewComputeNode, 'node_id'> & {
  readonly node_id?: string | undefined;
  readonly inputs: Properties;
};

export function newNodeOf(kind: NodeKind): z.ZodType<NodeBody> {
  return requestsOf(kind).newNode;
}

/** The bodies that create and change a node: the fields of its kind stand beside those of all kinds. */
function requestsOf(kind: NodeKind) {
  const properties = kind.properties.shape;
  const inputs = kind.creation?.schema.shape ?? {};
  const pick = (body: Record<string, unknown>, shape: object) =>
    Object.fromEntries(Object.entries(body).filter(([field]) => field in shape));
  // A kind without a console has no console field. The handler sees that as a field which was left out.
  const hasConsole = kind.consoleTypes.length > 0;
  const ownConsole = hasConsole ? consoleFields(kind) : ({} as ReturnType<typeof consoleFields>);
  const fields = { ...properties, ...ownConsole };
  const newNode = z.strictObject({ ...fields, ...inputs, name, node_id: uuid.optional() });
  const changedNode = z.strictObject({
    ...fields,
    name: name.optional(),
    command_line: z.unknown(),
    node_directory: z.unknown(),
    node_id: z.unknown(),
    project_id: z.unknown(),
    status: z.unknown(),
  });
  return {
    newNode: newNode.transform((body) => ({
      ...body,
      properties: pick(body, properties),
      inputs: pick(body, inputs),
    })),
    changedNode: changedNode.partial().transform((body) => ({ ...body, properties: pick(body, properties) })),
  };
}
