/** Switches on the compute interface: the same routes for each of the four kinds. */
import { z } from 'zod';
import type { LocalCompute } from '../run/local-compute.js';
import type { SwitchKind } from '../lab/kinds/node-kind.js';
import { SWITCH_KINDS } from '../lab/kinds/node-kinds.js';
import { empty, jsonText } from '../http/answer.js';
import { route, type Route } from '../http/route.js';
import { tcpPort, text, uuid } from '../lab/gns3-file/topology-schema.js';
import { checkId, findNode, findProject } from './compute-ids.js';
import { names } from './schemas.js';

const tag = 'Compute nodes';

const status = z.enum(['started', 'stopped', 'suspended']);
const name = text(1, 255);
const consoleFields = {
  console: tcpPort.nullable().optional(),
  console_type: z.enum(['telnet', 'none']).optional(),
};

const shownConsole = { console: tcpPort.nullable(), console_type: z.enum(['telnet', 'none']) };

/** The path of the nodes of a kind. */
export function nodesPath(kind: SwitchKind): string {
  return `/v2/compute/projects/{project_id}/${kind.type}/nodes`;
}

const ACTIONS = ['start', 'stop', 'suspend', 'reload'] as const;

export function computeNodeRoutes(compute: LocalCompute): Route[] {
  return SWITCH_KINDS.flatMap((kind) => [
    ...routesOf(compute, kind),
    ...ACTIONS.map((action) => actionRoute(compute, kind, action)),
  ]);
}

function routesOf(compute: LocalCompute, kind: SwitchKind): Route[] {
  const path = nodesPath(kind);
  const one = names('project_id', 'node_id');
  const { title } = kind;
  const ownFields = { ...kind.shownProperties, ...(kind.consoleTypes.length > 0 ? shownConsole : {}) };
  const shown = z.strictObject({ ...ownFields, name, node_id: uuid, project_id: uuid, status });
  const { newNode, changedNode } = requestsOf(kind);
  return [
    route({
      method: 'POST',
      path,
      tag,
      summary: `Create and start ${title}`,
      params: names('project_id'),
      body: newNode,
      answers: { 201: shown },
      handle: async ({ params, body }) =>
        jsonText(201, await findProject(compute, params.project_id).createNode(kind, body)),
    }),
    route({
      method: 'GET',
      path: `${path}/{node_id}`,
      tag,
      summary: `Show ${title}`,
      params: one,
      answers: { 200: shown },
      handle: ({ params }) => jsonText(200, findNode(compute, kind, params).text),
    }),
    route({
      method: 'PUT',
      path: `${path}/{node_id}`,
      tag,
      summary: `Change ${title} while it runs`,
      params: one,
      body: changedNode,
      answers: { 200: shown },
      handle: async ({ params, body }) => jsonText(200, await findNode(compute, kind, params).update(body)),
    }),
    route({
      method: 'DELETE',
      path: `${path}/{node_id}`,
      tag,
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
      summary: `Show the copy of ${title}: there are no files to copy`,
      params: one,
      body: z.strictObject({ destination_node_id: uuid }),
      answers: { 201: shown },
      handle: ({ params, body }) => {
        findNode(compute, kind, params);
        return jsonText(201, findNode(compute, kind, { ...params, node_id: body.destination_node_id }).text);
      },
    }),
  ];
}

/** The start, stop and similar actions, which change nothing, because a switch always runs. */
function actionRoute(compute: LocalCompute, kind: SwitchKind, action: (typeof ACTIONS)[number]): Route {
  return route({
    method: 'POST',
    path: `${nodesPath(kind)}/{node_id}/${action}`,
    tag,
    summary: `Do nothing: ${kind.title} always runs`,
    params: names('project_id', 'node_id'),
    answers: { 204: null },
    handle: async ({ params }) => {
      await findNode(compute, kind, params)[action]();
      return empty(204);
    },
  });
}

/** The bodies that create and change a node: the fields of its kind stand beside those of all kinds. */
function requestsOf(kind: SwitchKind) {
  const properties = kind.properties.shape;
  const isProperty = (field: string): boolean => field in properties;
  // A kind without a console has no console field. The handler sees that as a field which was left out.
  const ownConsole = kind.consoleTypes.length > 0 ? consoleFields : ({} as typeof consoleFields);
  const fields = { ...properties, ...ownConsole };
  const split = <Body extends Record<string, unknown>>(body: Body) => ({
    ...body,
    properties: Object.fromEntries(Object.entries(body).filter(([field]) => isProperty(field))),
  });
  const newNode = z.strictObject({ ...fields, name, node_id: uuid.optional() });
  const changedNode = z.strictObject({
    ...fields,
    name: name.optional(),
    node_id: z.unknown(),
    project_id: z.unknown(),
    status: z.unknown(),
  });
  return { newNode: newNode.transform(split), changedNode: changedNode.partial().transform(split) };
}
