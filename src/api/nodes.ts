/** Nodes of a project. */
import { z } from 'zod';
import { empty, jsonText } from '../http/answer.js';
import { route, type Route } from '../http/route.js';
import type { Controller } from '../lab/controller.js';
import { listObjects } from '../lab/projects/project-content.js';
import { actOnAllNodes, actOnNode, findNode } from '../lab/topology/nodes.js';
import { isolateNode } from '../lab/topology/links.js';
import {
  consoleType,
  coordinate,
  label,
  nodeType,
  openObject,
  tcpPort,
  text,
  uuid,
} from '../lab/gns3-file/topology-schema.js';
import { customAdapters } from '../lab/kinds/custom-adapters.js';
import type { NodeAction } from '../lab/lab-run.js';
import type { NodeFolders } from '../files/node-files/node-folders.js';
import { refusals } from '../base/errors/errors.js';
import { names } from './schemas.js';
import { link } from './shapes/links.js';
import { node } from './shapes/nodes.js';

const tag = 'Nodes';

const settable = {
  name: text(1, 255),
  console: tcpPort.nullable(),
  console_type: consoleType,
  console_auto_start: z.boolean(),
  properties: openObject,
  label,
  symbol: text(1, 255).nullable(),
  x: coordinate,
  y: coordinate,
  z: coordinate,
  locked: z.boolean(),
  port_name_format: z.string().max(255),
  port_segment_size: z.int().min(0),
  first_port_name: z.string().max(255).nullable(),
  custom_adapters: customAdapters,
};

/** Keys of a node that clients read and may send back; they are accepted and ignored. */
const ignored = {
  command_line: z.unknown(),
  compute_id: z.unknown(),
  console_host: z.unknown(),
  height: z.unknown(),
  node_directory: z.unknown(),
  node_id: z.unknown(),
  node_type: z.unknown(),
  ports: z.unknown(),
  project_id: z.unknown(),
  status: z.unknown(),
  template_id: z.unknown(),
  width: z.unknown(),
};

export const newNode = z
  .strictObject({
    ...z.object(ignored).partial().shape,
    ...z.object(settable).partial().shape,
    name: settable.name,
    node_type: nodeType,
    compute_id: text(1, 255),
    node_id: uuid.optional(),
    template_id: uuid.nullable().optional(),
  })
  .transform(
    ({ command_line, console_host, height, node_directory, ports, project_id, status, width, ...kept }) => {
      return kept;
    },
  );

const change = { ...z.object(ignored).partial().shape, ...z.object(settable).partial().shape };
const changedNode = z.strictObject(change).transform(withoutIgnored);
/** A change that names its node. */
export const changeOfNode = z
  .strictObject({ ...change, node_id: uuid })
  .transform((given) => ({ ...withoutIgnored(given), node_id: given.node_id }));

function withoutIgnored<Given extends Partial<Record<keyof typeof ignored, unknown>>>(
  given: Given,
): Omit<Given, keyof typeof ignored> {
  const {
    command_line,
    compute_id,
    console_host,
    height,
    node_directory,
    node_id,
    node_type: type,
    ports,
    project_id,
    status,
    template_id,
    width,
    ...kept
  } = given;
  return kept;
}

const place = z.strictObject({ x: coordinate, y: coordinate, z: coordinate.optional() });

export function nodeRoutes(controller: Controller, folders: NodeFolders): Route[] {
  const { projects, symbols } = controller;
  const all = names('project_id');
  const one = names('project_id', 'node_id');
  const base = '/v2/projects/{project_id}/nodes';
  return [
    route({
      method: 'GET',
      path: base,
      tag,
      access: { right: 'projects:read', project: 'project_id' },
      summary: 'List the nodes; a closed project is read from its file',
      params: all,
      answers: { 200: z.array(z.union([node, openObject])) },
      handle: async ({ params }) => {
        return jsonText(200, await listObjects(projects.find(params.project_id), 'node'));
      },
    }),
    route({
      method: 'POST',
      path: base,
      tag,
      access: { right: 'projects:write', project: 'project_id' },
      summary: 'Create a node',
      params: all,
      body: newNode,
      answers: { 201: node },
      handle: async ({ params, body }) => {
        const project = projects.find(params.project_id);
        await symbols.size(body.symbol ?? '');
        return jsonText(201, await folders.make(project, body));
      },
    }),
    ...(['start', 'stop', 'suspend', 'reload'] as const).flatMap((action) => [
      allNodesRoute(controller, action),
      oneNodeRoute(controller, action),
    ]),
    route({
      method: 'GET',
      path: `${base}/{node_id}`,
      tag,
      access: { right: 'projects:read', project: 'project_id' },
      summary: 'Show a node',
      params: one,
      answers: { 200: node },
      handle: ({ params }) => {
        const found = projects.find(params.project_id).topology.nodes.published(params.node_id);
        if (found === undefined) throw refusals.nodeUnknown(params.node_id);
        return jsonText(200, found);
      },
    }),
    route({
      method: 'PUT',
      path: `${base}/{node_id}`,
      tag,
      access: { right: 'projects:write', project: 'project_id' },
      summary: 'Change a node; a whole node may be sent back',
      params: one,
      body: changedNode,
      answers: { 200: node },
      handle: async ({ params, body }) => {
        const project = projects.find(params.project_id);
        await symbols.size(body.symbol ?? '');
        return jsonText(200, await folders.change(project, params.node_id, body));
      },
    }),
    route({
      method: 'DELETE',
      path: `${base}/{node_id}`,
      tag,
      access: { right: 'projects:write', project: 'project_id' },
      summary: 'Delete a node and its links',
      params: one,
      answers: { 204: null },
      handle: async ({ params }) => {
        await folders.remove(projects.find(params.project_id), params.node_id);
        return empty(204);
      },
    }),
    route({
      method: 'POST',
      path: `${base}/{node_id}/duplicate`,
      tag,
      access: { right: 'projects:write', project: 'project_id' },
      summary: 'Duplicate a node',
      params: one,
      body: place,
      answers: { 201: node },
      handle: async ({ params, body }) => {
        const project = projects.find(params.project_id);
        await symbols.size(findNode(project.topology, params.node_id).symbol ?? '');
        return jsonText(201, await folders.duplicate(project, params.node_id, body));
      },
    }),
    route({
      method: 'POST',
      path: `${base}/{node_id}/move`,
      tag,
      access: { right: 'projects:write', project: 'project_id' },
      summary: 'Move a switch or a hub to another compute while it runs',
      params: one,
      body: z.strictObject({ compute_id: text(1, 255).optional() }),
      answers: { 200: node },
      handle: async ({ params, body }) => {
        const project = projects.find(params.project_id);
        return jsonText(200, await folders.move(project, params.node_id, body.compute_id));
      },
    }),
    route({
      method: 'GET',
      path: `${base}/{node_id}/links`,
      tag,
      access: { right: 'projects:read', project: 'project_id' },
      summary: 'List the links of a node',
      params: one,
      answers: { 200: z.array(link) },
      handle: ({ params }) => {
        const { topology } = projects.find(params.project_id);
        findNode(topology, params.node_id);
        const links = [...topology.portUse.linksOf(params.node_id)].map((id) => topology.links.published(id));
        return jsonText(200, `[${links.filter((found) => found !== undefined).join(',')}]`);
      },
    }),
    isolationRoute(controller, 'isolate'),
    isolationRoute(controller, 'unisolate'),
  ];
}

function isolationRoute({ projects }: Controller, action: 'isolate' | 'unisolate'): Route {
  return route({
    method: 'POST',
    path: `/v2/projects/{project_id}/nodes/{node_id}/${action}`,
    tag,
    access: { right: 'run', project: 'project_id' },
    summary: action === 'isolate' ? 'Suspend all links of a node' : 'Resume all links of a node',
    params: names('project_id', 'node_id'),
    answers: { 204: null },
    handle: async ({ params }) => {
      await projects.find(params.project_id).change((topology, transaction) => {
        isolateNode(topology, transaction, params.node_id, action === 'isolate');
      });
      return empty(204);
    },
  });
}

function allNodesRoute(controller: Controller, action: NodeAction): Route {
  return route({
    method: 'POST',
    path: `/v2/projects/{project_id}/nodes/${action}`,
    tag,
    access: { right: 'run', project: 'project_id' },
    summary: `${capitalised(action)} all nodes`,
    params: names('project_id'),
    answers: { 204: null },
    handle: async ({ params }) => {
      const topology = await controller.projects.find(params.project_id).change((open) => open);
      await actOnAllNodes(topology, action);
      return empty(204);
    },
  });
}

function oneNodeRoute(controller: Controller, action: NodeAction): Route {
  return route({
    method: 'POST',
    path: `/v2/projects/{project_id}/nodes/{node_id}/${action}`,
    tag,
    access: { right: 'run', project: 'project_id' },
    summary: `${capitalised(action)} a node`,
    params: names('project_id', 'node_id'),
    answers: { 200: node },
    handle: async ({ params }) => {
      const topology = await controller.projects.find(params.project_id).change((open) => open);
      return jsonText(200, await actOnNode(topology, params.node_id, action));
    },
  });
}

function capitalised(word: string): string {
  return word.charAt(0).toUpperCase() + word.slice(1);
}
