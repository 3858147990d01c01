/** What has passed through switches, and what they have learnt. */
import type { z } from 'zod';
import { dlciTable, dlciTableOf, macTable, macTableOf } from '../run/switches/device-tables.js';
import type { LocalCompute } from '../run/local-compute.js';
import { statistics } from '../run/switches/statistics.js';
import { SWITCH_KINDS, type SwitchKind } from '../run/switches/switch-kinds.js';
import { empty, json } from '../http/answer.js';
import { route, type Route } from '../http/route.js';
import { findNode } from './compute-ids.js';
import { nodesPath } from './compute-nodes.js';
import { names } from './schemas.js';

const tag = 'Compute nodes';
const params = names('project_id', 'node_id');

/** Tables that some kinds have. */
const TABLES = {
  ethernet_switch: { name: 'mac_table', what: 'stations', schema: macTable, of: macTableOf },
  frame_relay_switch: {
    name: 'dlcis',
    what: 'DLCIs and the state of its management',
    schema: dlciTable,
    of: dlciTableOf,
  },
};

export function computeStatisticsRoutes(compute: LocalCompute): Route[] {
  return SWITCH_KINDS.flatMap((kind) => [
    ...statisticsRoutes(compute, kind),
    ...Object.entries(TABLES)
      .filter(([type]) => type === kind.type)
      .map(([, table]) => tableRoute(compute, kind, table)),
  ]);
}

function statisticsRoutes(compute: LocalCompute, kind: SwitchKind): Route[] {
  const path = `${nodesPath(kind)}/{node_id}/statistics`;
  const what = kind.type.replaceAll('_', ' ');
  return [
    route({
      method: 'GET',
      path,
      tag,
      summary: `What has passed through the ${what}`,
      params,
      answers: { 200: statistics },
      handle: ({ params: wanted }) => json(200, findNode(compute, kind, wanted).statistics()),
    }),
    route({
      method: 'DELETE',
      path,
      tag,
      summary: `Begin to count anew at the ${what}`,
      params,
      answers: { 204: null },
      handle: ({ params: wanted }) => {
        findNode(compute, kind, wanted).resetStatistics();
        return empty(204);
      },
    }),
  ];
}

interface Table {
  readonly name: string;
  readonly what: string;
  readonly schema: z.ZodType;
  readonly of: (inspected: unknown) => unknown;
}

function tableRoute(compute: LocalCompute, kind: SwitchKind, { name, what, schema, of }: Table): Route {
  return route({
    method: 'GET',
    path: `${nodesPath(kind)}/{node_id}/${name}`,
    tag,
    summary: `The ${what} of the ${kind.type.replaceAll('_', ' ')}`,
    params,
    answers: { 200: schema },
    handle: async ({ params: wanted }) => json(200, of(await findNode(compute, kind, wanted).inspect())),
  });
}
