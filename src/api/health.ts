/** Paths that load balancers and supervisors ask. They need no credentials, and then say nothing but the status. */
import { z } from 'zod';
import { refusals } from '../base/errors/errors.js';
import { json } from '../http/answer.js';
import { route, type Route } from '../http/route.js';
import type { Readiness } from '../operations/readiness.js';
import { nothing } from './schemas.js';

const tag = 'Operations';
const health = z.strictObject({ status: z.literal(200), message: z.string() });

export function healthRoutes(readiness: Readiness): Route[] {
  return [
    route({
      method: 'GET',
      path: '/livez',
      tag,
      summary: 'Tell that the server answers',
      params: nothing,
      access: 'anyone',
      answers: { 200: health },
      handle: () => json(200, { status: 200, message: 'The server answers' }),
    }),
    route({
      method: 'GET',
      path: '/readyz',
      tag,
      summary: 'Tell whether the server takes new work (503 when it does not)',
      params: nothing,
      access: 'anyone',
      answers: { 200: health },
      handle: async ({ exchange }) => {
        const failing = await readiness.failing();
        if (failing.length > 0) throw refusals.notReady(exchange.caller.has('metrics') ? failing : undefined);
        return json(200, { status: 200, message: 'The server takes new work' });
      },
    }),
  ];
}
