/** An HTTP server in this process, with live streams at `/tail`, `/tail/ws` and `/texts`. */
import { pino } from 'pino';
import { z } from 'zod';
import { route, socketRoute } from '../../src/http/route.js';
import { HttpServer } from '../../src/http/server.js';
import type { ChunkedResponse } from '../../src/http/streams/chunked-response.js';
import type { TailSource } from '../../src/http/streams/tail-flow.js';
import type { Teardown } from './scratch.js';
import { newGate } from './new-gate.js';
import { Descriptors } from '../../src/engine/sockets/descriptors.js';

export const TAIL_MEDIA = 'application/x-tail';

export interface TailServer {
  readonly port: number;
  readonly close: (graceMs: number) => Promise<void>;
}

/** The most characters that may wait for a client of `/texts`. */
const LARGEST_BACKLOG = 64 * 1024 * 1024;

/** `open` is called with the query parameter `which` of every request, `onTexts` with every stream of texts. */
export async function startTailServer(
  t: Teardown,
  open: (which: string) => TailSource | Promise<TailSource>,
  onTexts: (stream: ChunkedResponse) => void = () => undefined,
): Promise<TailServer> {
  const params = z.object({});
  const query = z.strictObject({ which: z.string().max(5) });
  const server = new HttpServer({
    gate: newGate(),
    table: {
      routes: [
        route({
          method: 'GET',
          path: '/tail',
          tag: 'Test',
          summary: 'A stream',
          params,
          query,
          answers: { 200: { media: TAIL_MEDIA } },
          handle: async ({ exchange, query: { which } }) =>
            exchange.streamTail(TAIL_MEDIA, await open(which), [['X-Which', which]]),
        }),
        route({
          method: 'GET',
          path: '/texts',
          tag: 'Test',
          summary: 'Texts',
          params,
          answers: { 200: { media: TAIL_MEDIA } },
          handle: ({ exchange }) => {
            const stream = exchange.streamChunks(TAIL_MEDIA, LARGEST_BACKLOG);
            if (stream !== undefined) onTexts(stream);
            return 'streamed';
          },
        }),
      ],
      sockets: [
        socketRoute({
          path: '/tail/ws',
          tag: 'Test',
          summary: 'A stream',
          params,
          query,
          open: ({ query: { which } }) => open(which),
        }),
      ],
    },
    maxJsonBody: 1000,
    name: 'Test',
    descriptors: new Descriptors(),
    log: pino({ level: 'silent' }),
  });
  let isClosed = false;
  const close = async (graceMs: number): Promise<void> => {
    if (isClosed) return;
    isClosed = true;
    await server.close(graceMs);
  };
  t.teardown(() => close(0));
  return { close, port: await server.listen('127.0.0.1', 0) };
}
