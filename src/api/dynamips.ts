/** The routes that only Dynamips routers have: resuming, and the search for idle-PC values. */
import { randomUUID } from 'node:crypto';
import { z } from 'zod';
import { refusals } from '../base/errors/errors.js';
import { json } from '../http/answer.js';
import { route, type Route } from '../http/route.js';
import type { Controller } from '../lab/controller.js';
import { dynamips } from '../lab/kinds/dynamips.js';
import { findNode as findStoredNode } from '../lab/topology/nodes.js';
import type { LocalCompute } from '../run/local-compute.js';
import type { ComputeNode } from '../run/nodes/compute-node.js';
import { IdlePcSearches } from '../run/nodes/dynamips/idle-pc.js';
import { ProgramNode } from '../run/nodes/program-node.js';
import { findNode } from './compute-ids.js';
import { nodesPath } from './compute-nodes.js';
import { names } from './schemas.js';

const tag = 'Dynamips';
const one = names('project_id', 'node_id');
const found = z.strictObject({ idlepc: z.string() });
const proposals = z.array(z.string());
const wantedImage = dynamips.properties.pick({ platform: true, image: true, ram: true }).required();
/** The name of the project that a search without a node makes and deletes. */
const SEARCH = 'AUTOIDLEPC';

interface NodePath {
  readonly project_id: string;
  readonly node_id: string;
}

export function dynamipsRoutes({ projects, computes }: Controller, compute: LocalCompute): Route[] {
  const searches = new IdlePcSearches((id) => compute.dynamips.runOf(id));
  const labNode = async (
    { project_id: id, node_id: nodeId }: NodePath,
    path: string,
  ): Promise<ProgramNode> => {
    const { topology } = projects.find(id);
    findStoredNode(topology, nodeId);
    await topology.run.settled();
    return routerOf(compute.projects.nodeOf(id, nodeId), path);
  };
  const ofCompute = (path: NodePath): ProgramNode =>
    routerOf(findNode(compute, dynamips, path), path.node_id);
  const labBase = '/v2/projects/{project_id}/nodes/{node_id}/dynamips';
  const base = `${nodesPath(dynamips)}/{node_id}`;
  return [
    route({
      method: 'GET',
      path: `${labBase}/auto_idlepc`,
      tag,
      access: { right: 'run', project: 'project_id' },
      summary: 'Find an idle-PC value for a router; a stopped one is started for that',
      params: one,
      answers: { 200: found },
      handle: async ({ params, exchange }) =>
        json(200, { idlepc: await searches.find(await labNode(params, exchange.path), exchange) }),
    }),
    route({
      method: 'GET',
      path: `${labBase}/idlepc_proposals`,
      tag,
      access: { right: 'run', project: 'project_id' },
      summary:
        'List the idle-PC values that Dynamips proposes for a router; a stopped one is started for that',
      params: one,
      answers: { 200: proposals },
      handle: async ({ params, exchange }) =>
        json(200, await searches.proposals(await labNode(params, exchange.path), exchange)),
    }),
    route({
      method: 'POST',
      path: '/v2/computes/{compute_id}/auto_idlepc',
      tag,
      access: { right: 'computes:write' },
      summary: 'Find an idle-PC value for an image',
      params: names('compute_id'),
      body: wantedImage,
      answers: { 200: found },
      handle: async ({ params, body, exchange }) => {
        computes.checkServed(params.compute_id, `POST ${exchange.path}`);
        await compute.checkAble(dynamips.type);
        const id = randomUUID();
        await compute.projects.create({ name: SEARCH, project_id: id });
        try {
          const project = compute.projects.find(id);
          const nodeId = randomUUID();
          await project.createNode(dynamips, {
            name: SEARCH,
            node_id: nodeId,
            console_type: 'none',
            properties: body,
          });
          const node = routerOf(project.findNode(nodeId), exchange.path);
          return json(200, { idlepc: await searches.find(node, exchange) });
        } finally {
          await compute.projects.delete(id);
        }
      },
    }),
    route({
      method: 'GET',
      path: `${base}/auto_idlepc`,
      tag,
      access: { right: 'compute' },
      summary: 'Find an idle-PC value for a router; a stopped one is started for that',
      params: one,
      answers: { 200: found },
      handle: async ({ params, exchange }) =>
        json(200, { idlepc: await searches.find(ofCompute(params), exchange) }),
    }),
    route({
      method: 'GET',
      path: `${base}/idlepc_proposals`,
      tag,
      access: { right: 'compute' },
      summary:
        'List the idle-PC values that Dynamips proposes for a router; a stopped one is started for that',
      params: one,
      answers: { 200: proposals },
      handle: async ({ params, exchange }) =>
        json(200, await searches.proposals(ofCompute(params), exchange)),
    }),
  ];
}

function routerOf(node: ComputeNode | undefined, path: string): ProgramNode {
  if (node instanceof ProgramNode && node.kind === dynamips) return node;
  throw refusals.pathUnknown(path);
}
