/** An HTTP server in this process with each kind of stream: `/tail`, `/tail/ws`, `/texts` and `/bytes`. */
import { pino } from 'pino';
import { z } from 'zod';
import { Descriptors } from '../../src/engine/sockets/descriptors.js';
import { route, socketRoute } from '../../src/http/route.js';
import { placed } from '../../src/http/route-scope.js';
import { HttpServer } from '../../src/http/server.js';
import type { ChunkedResponse } from '../../src/http/streams/chunked-response.js';
import type { PieceSource } from '../../src/http/streams/sized-response.js';
import type { TailSource } from '../../src/http/streams/tail-flow.js';
import type { Teardown } from './scratch.js';
import { newGate } from './new-gate.js';

export const STREAM_MEDIA = 'application/x-stream';

export interface StreamServer {
  readonly port: number;
  readonly close: (graceMs: number) => Promise<void>;
}

/** The streams that a test answers with; a request for another one fails. */
export interface Streams {
  /** Called with the query parameter `which` of every request for `/tail`. */
  readonly tail?: (which: string) => TailSource | Promise<TailSource>;
  /** Called with every stream of `/texts`. */
  readonly texts?: (stream: ChunkedResponse) => void;
  /** Called for every request for `/bytes`. */
  readonly bytes?: () => PieceSource & { readonly length: number };
}

/** The most characters that may wait for a client of `/texts`. */
const LARGEST_BACKLOG = 64 * 1024 * 1024;

const none = (): never => {
  throw new Error('the test has no such stream');
};

export async function startStreamServer(t: Teardown, streams: Streams): Promise<StreamServer> {
  const { tail = none, texts = none, bytes = none } = streams;
  const params = z.object({});
  const query = z.strictObject({ which: z.string().max(5) });
  const stream = { tag: 'Test', access: 'anyone', summary: 'A stream', params } as const;
  const answers = { 200: { media: STREAM_MEDIA } };
  const server = new HttpServer({
    rates: () => undefined,
    ended: () => undefined,
    gate: newGate(),
    table: {
      routes: placed('here', [
        route({
          ...{ method: 'GET', path: '/tail', ...stream, query, answers },
          handle: async ({ exchange, query: { which } }) =>
            exchange.streamTail(STREAM_MEDIA, await tail(which), [['X-Which', which]]),
        }),
        route({
          ...{ method: 'GET', path: '/texts', ...stream, answers },
          handle: ({ exchange }) => {
            const opened = exchange.streamChunks(STREAM_MEDIA, LARGEST_BACKLOG);
            if (opened !== undefined) texts(opened);
            return 'streamed';
          },
        }),
        route({
          ...{ method: 'GET', path: '/bytes', ...stream, answers },
          handle: ({ exchange }) => {
            const source = bytes();
            exchange.streamSized(STREAM_MEDIA, [['X-Test', 'yes']], source.length, source);
            return 'streamed';
          },
        }),
      ]),
      sockets: placed('here', [
        socketRoute({ path: '/tail/ws', ...stream, query, open: ({ query: { which } }) => tail(which) }),
      ]),
    },
    accessLogSample: () => 0,
    maxJsonBody: () => 1000,
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
