/**
 * Requests that the controller passes on to a compute. Those that computes know have routes of their own, beside the
 * routes of the compute; here are the others.
 */
import { z } from 'zod';
import { refusals } from '../base/errors/errors.js';
import { json } from '../http/answer.js';
import { route, type Route } from '../http/route.js';
import type { Controller } from '../lab/controller.js';
import { openObject } from '../lab/gns3-file/topology-schema.js';
import { ports } from './computes.js';
import { names } from './schemas.js';

const tag = 'Computes';

export function forwardingRoutes({ computes }: Controller): Route[] {
  return [
    route({
      method: 'GET',
      path: '/v2/computes/{compute_id}/network/ports',
      tag,
      access: { right: 'computes:read' },
      summary: 'List the port numbers that a compute has given out',
      params: names('compute_id'),
      answers: { 200: ports },
      handle: async ({ params }) => json(200, await computes.ports(params.compute_id)),
    }),
    ...(['GET', 'POST', 'PUT'] as const).map((method) =>
      route({
        method,
        path: '/v2/computes/{compute_id}/{emulator}/{action:.+}',
        tag,
        access: { right: method === 'GET' ? 'computes:read' : 'computes:write' },
        summary: 'Pass a question on to another compute; refuse what computes do not know',
        params: names('compute_id', 'emulator', 'action'),
        // The compute does not read it.
        ...(method === 'GET' ? {} : { body: 'raw' as const }),
        answers: { 200: z.union([openObject, z.array(openObject)]) },
        handle: async ({ params: { compute_id: id, emulator, action } }) => {
          const request = `${method} /${emulator}/${action}`;
          if (method !== 'GET' || !computes.isOther(id)) {
            computes.checkServed(id, request);
            throw refusals.forwardUnknown(request);
          }
          const path = ['', emulator, ...action.split('/')].map(encodeURIComponent).join('/');
          return json(200, await computes.ask(id, { method, path }));
        },
      }),
    ),
  ];
}
