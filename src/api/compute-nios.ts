/** Attaching ports of switches to tunnels, interfaces and sockets (NIOs), and detaching them. */
import type { LocalCompute } from '../run/local-compute.js';
import { canonical, canonicalNio, nio } from '../run/links/nio.js';
import type { SwitchKind } from '../lab/kinds/node-kind.js';
import { SWITCH_KINDS } from '../lab/kinds/node-kinds.js';
import { empty, json } from '../http/answer.js';
import { route, type Route } from '../http/route.js';
import { findNode, portNumber } from './compute-ids.js';
import { nodesPath } from './compute-nodes.js';
import { names } from './schemas.js';

const tag = 'Compute nodes';

export function computeNioRoutes(compute: LocalCompute): Route[] {
  return SWITCH_KINDS.flatMap((kind) => routesOf(compute, kind));
}

function routesOf(compute: LocalCompute, kind: SwitchKind): Route[] {
  const path = `${nodesPath(kind)}/{node_id}/adapters/{adapter_number}/ports/{port_number}/nio`;
  const params = names('project_id', 'node_id', 'adapter_number', 'port_number');
  return [
    route({
      method: 'POST',
      path,
      tag,
      summary: `Attach a port of ${kind.title}`,
      params,
      body: nio,
      answers: { 201: canonicalNio },
      handle: async ({ params: wanted, body, exchange }) => {
        const port = portNumber(wanted.adapter_number, wanted.port_number, exchange.path);
        await findNode(compute, kind, wanted).attach(port, body);
        return json(201, canonical(body));
      },
    }),
    route({
      method: 'DELETE',
      path,
      tag,
      summary: `Detach a port of ${kind.title}`,
      params,
      answers: { 204: null },
      handle: async ({ params: wanted, exchange }) => {
        const port = portNumber(wanted.adapter_number, wanted.port_number, exchange.path);
        await findNode(compute, kind, wanted).detach(port);
        return empty(204);
      },
    }),
  ];
}
