/** The server at a glance, once or each second. */
import { json } from '../http/answer.js';
import { route, type Route, type SocketRoute } from '../http/route.js';
import type { Overview } from '../operations/overview.js';
import { nothing } from './schemas.js';
import { overview } from './shapes/overview.js';

const tag = 'Operations';
const access = { right: 'computes:read' } as const;

export function overviewRoutes(figures: Overview): { routes: Route[]; sockets: SocketRoute[] } {
  return {
    routes: [
      route({
        method: 'GET',
        path: '/v2/overview',
        tag,
        access,
        summary: 'Show the server at a glance: engines, drops by cause, disks, captures, uploads, jobs',
        params: nothing,
        answers: { 200: overview },
        handle: () => json(200, figures.figures()),
      }),
    ],
    sockets: [
      {
        path: '/v2/overview/ws',
        tag,
        access,
        summary: 'Stream the same, a text frame each second',
        params: nothing,
        check: () => undefined,
        open: (_params, send) => figures.view(send),
      },
    ],
  };
}
