/** Notifications of the controller and of projects, over HTTP and over WebSocket. */
import { sendEvents, type EventSource } from '../http/event-stream.js';
import type { Answer } from '../http/answer.js';
import type { Exchange } from '../http/exchange.js';
import { route, type Route, type SocketRoute } from '../http/route.js';
import type { Controller } from '../lab/controller.js';
import { names, nothing } from './schemas.js';

const tag = 'Notifications';
/** So much may wait for a client that does not read; with more, the client is dropped. */
const LARGEST_BACKLOG = 1024 * 1024;
const STREAM = { media: 'application/json' };

export function notificationRoutes(controller: Controller): { routes: Route[]; sockets: SocketRoute[] } {
  const load = (): ReturnType<Controller['load']> => controller.load();
  const ofController: EventSource = {
    load,
    listen: (listener) => controller.announcements.subscribe(listener),
  };
  const ofProject = (id: string): EventSource => ({
    load,
    listen: (listener) => controller.projects.find(id).listen(listener),
  });
  return {
    routes: [
      route({
        method: 'GET',
        path: '/v2/notifications',
        tag,
        summary: 'Stream the notifications of the controller, one JSON object per line',
        params: nothing,
        answers: { 200: STREAM },
        handle: ({ exchange }) => streamed(exchange, ofController),
      }),
      route({
        method: 'GET',
        path: '/v2/projects/{project_id}/notifications',
        tag,
        summary: 'Stream the notifications of a project, one JSON object per line',
        params: names('project_id'),
        answers: { 200: STREAM },
        handle: ({ params, exchange }) => {
          controller.projects.find(params.project_id);
          return streamed(exchange, ofProject(params.project_id));
        },
      }),
    ],
    sockets: [
      {
        path: '/v2/notifications/ws',
        tag,
        summary: 'Stream the notifications of the controller, one JSON object per frame',
        params: nothing,
        check: () => undefined,
        open: (_params, send) => sendEvents(ofController, send),
      },
      {
        path: '/v2/projects/{project_id}/notifications/ws',
        tag,
        summary: 'Stream the notifications of a project, one JSON object per frame',
        params: names('project_id'),
        check: ({ project_id = '' }) => {
          controller.projects.find(project_id);
        },
        open: ({ project_id = '' }, send) => sendEvents(ofProject(project_id), send),
      },
    ],
  };
}

function streamed(exchange: Exchange, source: EventSource): Answer {
  const stream = exchange.streamChunks(STREAM.media, LARGEST_BACKLOG);
  if (stream !== undefined) {
    const stop = sendEvents(source, (event) => {
      stream.send(`${event}\n`);
    });
    exchange.atEnd(stop);
  }
  return 'streamed';
}
