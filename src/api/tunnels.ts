/** The ways between the hosts of computes, and what another controller asks to find out about them. */
import { z } from 'zod';
import { empty, json } from '../http/answer.js';
import { route, type Route } from '../http/route.js';
import type { Controller } from '../lab/controller.js';
import { tcpPort, uuid } from '../lab/gns3-file/topology-schema.js';
import type { LocalCompute } from '../run/local-compute.js';
import { names, nothing } from './schemas.js';

const tag = 'Compute';
const MOST_HOSTS = 4096;

const address = z.union([z.ipv4(), z.ipv6()]);
const echo = z.strictObject({ udp_port: tcpPort, word: z.string().regex(/^[\da-f]{32}$/) });
const finding = z.strictObject({
  largest_frame: z.int().nullable(),
  route_mtu: z.int().nullable(),
});
const path = z.strictObject({
  ...finding.shape,
  compute_id: z.string(),
  name: z.string(),
  address: z.string().nullable(),
  far_address: z.string().nullable(),
  state: z.enum(['whole', 'slow', 'blocked', 'unknown']),
  reason: z.string().nullable(),
  probed_at: z.number().nullable(),
});

export function tunnelRoutes({ computes }: Controller, compute: LocalCompute): Route[] {
  return [
    route({
      method: 'GET',
      path: '/v2/computes/{compute_id}/paths',
      tag: 'Computes',
      access: { right: 'computes:read' },
      summary: 'List the ways from the host of a compute to those of the others, as links see them',
      params: names('compute_id'),
      answers: { 200: z.array(path) },
      handle: ({ params }) => json(200, computes.paths(params.compute_id)),
    }),
    route({
      method: 'GET',
      path: '/v2/compute/tunnel',
      tag,
      access: { right: 'compute' },
      summary: 'Show whether this compute echoes datagrams of other hosts',
      params: nothing,
      answers: { 200: z.strictObject({ echoes: z.boolean() }) },
      handle: () => json(200, { echoes: compute.probes.echoes }),
    }),
    route({
      method: 'PUT',
      path: '/v2/compute/tunnel/hosts',
      tag,
      access: { right: 'compute' },
      summary: 'Name the other hosts to which links of this one may lead, for two minutes',
      params: nothing,
      body: z.strictObject({ controller: uuid, addresses: z.array(address).max(MOST_HOSTS) }),
      answers: { 204: null },
      handle: ({ body: { controller, addresses } }) => {
        compute.reach.name(controller, addresses);
        return empty(204);
      },
    }),
    route({
      method: 'POST',
      path: '/v2/compute/tunnel/echo',
      tag,
      access: { right: 'compute' },
      summary: 'Echo the datagrams that begin with a new word, for three seconds',
      params: nothing,
      body: z.strictObject({ towards: address }),
      answers: { 200: echo },
      handle: async ({ body }) => json(200, await compute.probes.echo(body.towards)),
    }),
    route({
      method: 'POST',
      path: '/v2/compute/tunnel/probe',
      tag,
      access: { right: 'compute' },
      summary: 'Find out which frames pass to another host in one piece',
      params: nothing,
      body: z.strictObject({ host: address, echo: echo.optional() }),
      answers: { 200: finding },
      handle: async ({ body }) => json(200, await compute.probes.probe(body.host, body.echo)),
    }),
  ];
}
