/** Attaching ports of nodes to tunnels, interfaces and sockets (NIOs), and detaching them. */
import type { LocalCompute } from '../run/local-compute.js';
import { canonical, canonicalNio, changedNio, nio } from '../run/links/nio.js';
import type { NodeKind } from '../lab/kinds/node-kind.js';
import { isSwitchKind, SERVED_KINDS } from '../lab/kinds/node-kinds.js';
import { empty, json } from '../http/answer.js';
import { route, type Route } from '../http/route.js';
import { findPort } from './compute-ids.js';
import { nodesPath } from './compute-nodes.js';
import { names } from './schemas.js';

const tag = 'Compute nodes';
const params = names('project_id', 'node_id', 'adapter_number', 'port_number');

export function computeNioRoutes(compute: LocalCompute): Route[] {
  return SERVED_KINDS.flatMap((kind) => routesOf(compute, kind));
}

function routesOf(compute: LocalCompute, kind: NodeKind): Route[] {
  const path = nioPath(kind);
  return [
    route({
      method: 'POST',
      path,
      tag,
      access: { right: 'compute' },
      summary: `Attach a port of ${kind.title}`,
      params,
      body: nio,
      answers: { 201: canonicalNio },
      handle: async ({ params: wanted, body, exchange }) => {
        const { node, port } = findPort(compute, kind, wanted, exchange.path);
        await node.attach(port, body);
        return json(201, canonical(body));
      },
    }),
    ...(isSwitchKind(kind) ? [] : [changeRoute(compute, kind)]),
    route({
      method: 'DELETE',
      path,
      tag,
      access: { right: 'compute' },
      summary: `Detach a port of ${kind.title}`,
      params,
      answers: { 204: null },
      handle: async ({ params: wanted, exchange }) => {
        const { node, port } = findPort(compute, kind, wanted, exchange.path);
        await node.detach(port);
        return empty(204);
      },
    }),
  ];
}

/** Switches do not have it, as in the reference. */
function changeRoute(compute: LocalCompute, kind: NodeKind): Route {
  return route({
    method: 'PUT',
    path: nioPath(kind),
    tag,
    access: { right: 'compute' },
    summary: `Filter or suspend a port of ${kind.title}`,
    params,
    body: nio,
    answers: { 201: changedNio },
    handle: async ({ params: wanted, body, exchange }) => {
      const { node, port } = findPort(compute, kind, wanted, exchange.path);
      await node.changeNio(port, body);
      return json(201, body);
    },
  });
}

function nioPath(kind: NodeKind): string {
  return `${nodesPath(kind)}/{node_id}/adapters/{adapter_number}/ports/{port_number}/nio`;
}
