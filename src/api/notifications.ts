/** Notifications of the controller, of projects, and of projects of the compute, over HTTP and over WebSocket. */
import { z } from 'zod';
import { envelope, type Listener } from '../base/streams/channel.js';
import { COMPUTE_PING_AFTER_MS, sendEvents, type EventSource } from '../http/event-stream.js';
import type { Answer } from '../http/answer.js';
import type { Caller } from '../http/caller.js';
import type { Exchange } from '../http/exchange.js';
import { route, type Route, type SocketRoute } from '../http/route.js';
import type { Controller } from '../lab/controller.js';
import type { Project } from '../lab/projects/project.js';
import type { LocalCompute } from '../run/local-compute.js';
import { findProject } from './compute-ids.js';
import { names, nothing } from './schemas.js';

const tag = 'Notifications';
/** So much may wait for a client that does not read; with more, the client is dropped. */
const LARGEST_BACKLOG = 1024 * 1024;
const STREAM = { media: 'application/json' };
const attendance = z.object({
  /** A client that only looks neither keeps a project open nor closes it. */
  observe: z.enum(['yes', 'no']).default('no'),
  /** The number of the last event that the client knows: it gets those after it first, and the number of each. */
  since: z
    .string()
    .regex(/^\d{1,16}$/, 'must be a whole number')
    .transform(Number)
    .refine(Number.isSafeInteger, 'is too large')
    .optional(),
});

export function notificationRoutes(
  controller: Controller,
  compute: LocalCompute,
): { routes: Route[]; sockets: SocketRoute[] } {
  const load = (): ReturnType<Controller['load']> => controller.load();
  /** An event about a project is for those who see the project. */
  const ofController = (caller: Caller): EventSource => ({
    load,
    listen: (listener) =>
      controller.announcements.subscribe((event, projectId) => {
        if (projectId === undefined || caller.grantOn(projectId) !== undefined) listener(event);
      }),
  });
  const ofProject = (id: string, { observe, since }: z.output<typeof attendance>): EventSource => ({
    load,
    listen: (send) => {
      const project = controller.projects.find(id);
      const listener: Listener =
        since === undefined
          ? send
          : (event, _about, sequence) => {
              send(numbered(event, sequence));
            };
      const leave = observe === 'yes' ? project.observe(listener) : project.listen(listener);
      const release = since === undefined ? undefined : goOnFrom(project, since, send);
      return () => {
        leave();
        release?.();
      };
    },
  });
  return {
    routes: [
      route({
        method: 'GET',
        path: '/v2/notifications',
        tag,
        access: { right: 'projects:read' },
        summary: 'Stream the notifications of the controller, one JSON object per line',
        params: nothing,
        answers: { 200: STREAM },
        handle: ({ exchange }) => streamed(exchange, ofController(exchange.caller)),
      }),
      route({
        method: 'GET',
        path: '/v2/projects/{project_id}/notifications',
        tag,
        goesOn: true,
        access: { right: 'projects:read', project: 'project_id' },
        summary: 'Stream the notifications of a project, one JSON object per line',
        params: names('project_id'),
        query: attendance,
        answers: { 200: STREAM },
        handle: ({ params, query, exchange }) => {
          controller.projects.find(params.project_id);
          return streamed(exchange, ofProject(params.project_id, query));
        },
      }),
      route({
        method: 'GET',
        path: '/v2/compute/projects/{project_id}/notifications',
        tag,
        access: { right: 'compute' },
        summary: 'Stream the notifications of a project of this compute, one JSON object per line',
        params: names('project_id'),
        answers: { 200: STREAM },
        handle: ({ params, exchange }) => {
          const { id } = findProject(compute, params.project_id);
          const listen: EventSource['listen'] = (listener) => compute.channel.subscribeTo(id, listener);
          return streamed(exchange, { load, listen }, COMPUTE_PING_AFTER_MS);
        },
      }),
    ],
    sockets: [
      {
        path: '/v2/notifications/ws',
        tag,
        access: { right: 'projects:read' },
        summary: 'Stream the notifications of the controller, one JSON object per frame',
        params: nothing,
        check: () => undefined,
        open: (_params, send, _query, caller) => sendEvents(ofController(caller), send),
      },
      {
        path: '/v2/projects/{project_id}/notifications/ws',
        tag,
        goesOn: true,
        access: { right: 'projects:read', project: 'project_id' },
        summary: 'Stream the notifications of a project, one JSON object per frame',
        params: names('project_id'),
        query: attendance,
        check: ({ project_id = '' }) => {
          controller.projects.find(project_id);
        },
        // The server has parsed the query with the schema.
        open: ({ project_id = '' }, send, query) =>
          sendEvents(ofProject(project_id, query as z.output<typeof attendance>), send),
      },
    ],
  };
}

/** Sends what has happened since, or that it is not known any more. Events are kept until the release, which is returned. */
function goOnFrom({ events }: Project, since: number, send: (event: string) => void): () => void {
  const { sequence } = events;
  const missed = events.since(since);
  if (missed === undefined) send(numbered(envelope('events.lost', JSON.stringify({ since })), sequence));
  for (const [index, event] of (missed ?? []).entries()) send(numbered(event, since + index + 1));
  return events.keepEvents();
}

function numbered(event: string, sequence: number): string {
  return `${event.slice(0, -1)}, "sequence": ${sequence}}`;
}

function streamed(exchange: Exchange, source: EventSource, pingAfterMs?: number): Answer {
  const stream = exchange.streamChunks(STREAM.media, LARGEST_BACKLOG);
  if (stream !== undefined) {
    const send = (event: string): void => {
      stream.send(`${event}\n`);
    };
    const stop = sendEvents(source, send, pingAfterMs);
    exchange.atEnd(stop);
  }
  return 'streamed';
}
