/** Traffic counters of nodes, and the tables that switches have learnt. */
import type { LocalCompute } from '../run/local-compute.js';
import { statistics } from '../run/nodes/statistics.js';
import type { DeviceTable, NodeKind } from '../lab/kinds/node-kind.js';
import { isSwitchKind, SERVED_KINDS } from '../lab/kinds/node-kinds.js';
import { empty, json } from '../http/answer.js';
import { route, type Route } from '../http/route.js';
import { findNode } from './compute-ids.js';
import { nodesPath } from './compute-nodes.js';
import { names } from './schemas.js';

const tag = 'Compute nodes';
const params = names('project_id', 'node_id');

export function computeStatisticsRoutes(compute: LocalCompute): Route[] {
  return SERVED_KINDS.flatMap((kind) => [
    ...statisticsRoutes(compute, kind),
    ...(isSwitchKind(kind) ? kind.tables.map((table) => tableRoute(compute, kind, table)) : []),
  ]);
}

function statisticsRoutes(compute: LocalCompute, kind: NodeKind): Route[] {
  const path = `${nodesPath(kind)}/{node_id}/statistics`;
  return [
    route({
      method: 'GET',
      path,
      tag,
      access: { right: 'compute' },
      summary: `Show the traffic counters of ${kind.title}`,
      params,
      answers: { 200: statistics },
      handle: ({ params: wanted }) => json(200, findNode(compute, kind, wanted).statistics()),
    }),
    route({
      method: 'DELETE',
      path,
      tag,
      access: { right: 'compute' },
      summary: `Reset the traffic counters of ${kind.title}`,
      params,
      answers: { 204: null },
      handle: ({ params: wanted }) => {
        findNode(compute, kind, wanted).resetStatistics();
        return empty(204);
      },
    }),
  ];
}

function tableRoute(
  compute: LocalCompute,
  kind: NodeKind,
  { name, contents, schema, rows }: DeviceTable,
): Route {
  return route({
    method: 'GET',
    path: `${nodesPath(kind)}/{node_id}/${name}`,
    tag,
    access: { right: 'compute' },
    summary: `Show the ${contents} of ${kind.title}`,
    params,
    answers: { 200: schema },
    handle: async ({ params: wanted }) => json(200, rows(await findNode(compute, kind, wanted).inspect())),
  });
}
