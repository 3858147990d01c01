/** Computes: this server, and other computes that clients have registered. */
import { z } from 'zod';
import { empty, json, jsonText } from '../http/answer.js';
import { route, type Route } from '../http/route.js';
import type { Controller } from '../lab/controller.js';
import { nodeType } from '../lab/gns3-file/topology-schema.js';
import { names, nothing } from './schemas.js';

const tag = 'Computes';

const compute = z.strictObject({
  capabilities: z.strictObject({
    node_types: z.array(nodeType),
    platform: z.string().optional(),
    version: z.string().nullable(),
  }),
  compute_id: z.string(),
  connected: z.boolean(),
  cpu_usage_percent: z.number().min(0).max(100).nullable(),
  host: z.string(),
  last_error: z.string().nullable(),
  memory_usage_percent: z.number().min(0).max(100).nullable(),
  name: z.string(),
  port: z.int(),
  protocol: z.enum(['http', 'https']),
  user: z.string().nullable(),
});

const port = z.int().min(1).max(65_535);
export const ports = z.strictObject({
  console_port_range: z.array(port).length(2),
  console_ports: z.array(port),
  udp_port_range: z.array(port).length(2),
  udp_ports: z.array(port),
});

const text = z.string().min(1).max(255);
const fields = {
  compute_id: text,
  name: text,
  protocol: z.enum(['http', 'https']),
  host: text,
  port,
  user: z.string().max(255).nullable(),
  password: z.string().max(255).nullable(),
};
const newCompute = z.strictObject({
  ...z.object(fields).partial().shape,
  protocol: fields.protocol,
  host: fields.host,
  port: fields.port,
});

const drain = z.strictObject({ compute_id: z.string(), on: z.boolean() });

export function computeRoutes(controller: Controller): Route[] {
  const { computes } = controller;
  return [
    route({
      method: 'GET',
      path: '/v2/computes',
      isFollowed: true,
      tag,
      access: { right: 'computes:read' },
      summary: 'List the computes',
      params: nothing,
      answers: { 200: z.array(compute) },
      handle: async () => jsonText(200, await computes.list()),
    }),
    route({
      method: 'POST',
      path: '/v2/computes',
      tag,
      access: { right: 'computes:write' },
      summary: 'Register a compute',
      params: nothing,
      body: newCompute,
      answers: { 201: compute },
      handle: async ({ body }) => jsonText(201, await computes.create(body)),
    }),
    route({
      method: 'GET',
      path: '/v2/computes/{compute_id}',
      isFollowed: true,
      tag,
      access: { right: 'computes:read' },
      summary: 'Show a compute',
      params: names('compute_id'),
      answers: { 200: compute },
      handle: async ({ params }) => jsonText(200, await computes.show(params.compute_id)),
    }),
    route({
      method: 'PUT',
      path: '/v2/computes/{compute_id}',
      tag,
      access: { right: 'computes:write' },
      summary: 'Change a compute',
      params: names('compute_id'),
      body: z.strictObject(fields).partial(),
      answers: { 200: compute },
      handle: async ({ params, body }) => jsonText(200, await computes.update(params.compute_id, body)),
    }),
    route({
      method: 'DELETE',
      path: '/v2/computes/{compute_id}',
      tag,
      access: { right: 'computes:write' },
      summary: 'Forget a compute',
      params: names('compute_id'),
      answers: { 204: null },
      handle: async ({ params }) => {
        await computes.delete(params.compute_id);
        return empty(204);
      },
    }),
    route({
      method: 'GET',
      path: '/v2/computes/{compute_id}/drain',
      isFollowed: true,
      tag,
      access: { right: 'computes:read' },
      summary: 'Show whether a compute takes new nodes',
      params: names('compute_id'),
      answers: { 200: drain },
      handle: ({ params: { compute_id: id } }) => {
        // Refuses one that is unknown.
        computes.nameOf(id);
        return json(200, { compute_id: id, on: computes.isDrained(id) });
      },
    }),
    route({
      method: 'POST',
      path: '/v2/computes/{compute_id}/drain',
      tag,
      access: { right: 'computes:write' },
      summary: 'Let another compute take no new nodes from now on, or take them again',
      params: names('compute_id'),
      body: z.strictObject({ on: z.boolean() }),
      answers: { 200: drain },
      handle: async ({ params: { compute_id: id }, body }) => {
        await computes.drain(id, body.on);
        return json(200, { compute_id: id, on: body.on });
      },
    }),
    route({
      method: 'GET',
      path: '/v2/computes/{compute_id}/ports',
      tag,
      access: { right: 'computes:read' },
      summary: 'List the port numbers that a compute has given out',
      params: names('compute_id'),
      answers: { 200: ports },
      handle: async ({ params }) => json(200, await computes.ports(params.compute_id)),
    }),
  ];
}
