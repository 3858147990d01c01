/** Servers of a farm in this process, with a table of who owns what. Their routes are a few of each sort. */
import { createHash } from 'node:crypto';
import { once } from 'node:events';
import { connect, createServer, type AddressInfo, type Socket } from 'node:net';
import { pino } from 'pino';
import { z } from 'zod';
import { Descriptors } from '../../src/engine/sockets/descriptors.js';
import { json } from '../../src/http/answer.js';
import type { Identification } from '../../src/http/caller.js';
import type { Exchange } from '../../src/http/exchange.js';
import { HopCredential } from '../../src/http/forwarding/hop-credential.js';
import { Forwarder } from '../../src/http/forwarding/forwarder.js';
import type { OwningServer, OwnServer, ScopeOwners } from '../../src/http/forwarding/scope-owners.js';
import { RawBody, RAW_BODY_HEADERS } from '../../src/http/raw-body.js';
import { placed } from '../../src/http/route-scope.js';
import { route, socketRoute, type RouteTable } from '../../src/http/route.js';
import { HttpServer } from '../../src/http/server.js';
import type { DuplexConnection, DuplexReceiver } from '../../src/http/streams/duplex-socket.js';
import type { TailSource } from '../../src/http/streams/tail-flow.js';
import { newGate } from './new-gate.js';
import type { Teardown } from './scratch.js';

export const CREDENTIAL = new HopCredential('the secret that all servers of the tests share');

/** The pieces that are kept of the bytes that have come on a way. */
const KEPT_PIECES = 100;

/** The owners of scopes, for all servers of a farm. */
export class FixedOwners {
  readonly table = new Map<string, OwningServer>();
  /** For a server that cannot find out whether the scopes are still its own: since when. */
  staleMs: number | undefined;

  /** The table, as a server sees it. */
  seenBy(id: string): ScopeOwners {
    const known: ScopeOwners['known'] = (scope) => {
      const owner = this.table.get(scope);
      if (owner === undefined) return { at: 'nobody' };
      const { staleMs } = this;
      if (owner.id !== id) return { at: 'server', ...owner };
      return { at: 'here', claim: { isFresh: () => staleMs === undefined }, staleMs };
    };
    return { known, find: (scope) => Promise.resolve(known(scope)) };
  }
}

/** The part of the routes of a server that a test decides. */
export interface Behaviour {
  readonly tail?: () => TailSource;
  readonly duplex?: (connection: DuplexConnection) => DuplexReceiver;
  /** Called for each client of events by WebSocket. Returns what is called when it has gone. */
  readonly frames?: (send: (frame: string | Uint8Array) => void) => () => void;
  /** Called for a request that is never answered. */
  readonly hang?: (exchange: Exchange) => void;
  /** Called before a body is taken. */
  readonly beforeBody?: () => Promise<void>;
}

interface ServerOfFarm extends OwnServer {
  readonly port: number;
  /** Ends all connections of other servers to it at once, and accepts no more. */
  readonly kill: () => void;
  /** All that has come on the way from other servers. */
  readonly received: () => readonly Buffer[];
  /** The lines of its access log. */
  readonly lines: readonly string[];
}

interface FarmServerOptions {
  readonly id: string;
  readonly owners: FixedOwners;
  readonly table?: RouteTable;
  readonly behaviour?: Behaviour;
  readonly identification?: Identification;
  readonly life?: string;
}

export async function startFarmServer(t: Teardown, options: FarmServerOptions): Promise<ServerOfFarm> {
  const { id, owners, behaviour = {}, identification, life = `life of ${id}` } = options;
  const lines: string[] = [];
  let place: OwnServer = { id, address: '', life, start: 1 };
  const server = new HttpServer({
    rates: () => undefined,
    ended: () => undefined,
    gate: newGate({}, identification),
    table: options.table ?? tableOf(id, behaviour),
    accessLogSample: () => 1,
    maxJsonBody: () => 1024 * 1024,
    name: 'Test',
    descriptors: new Descriptors(),
    log: pino({ level: 'silent' }),
    requestLog: { isLevelEnabled: () => true, add: (_level, line) => lines.push(line) },
    forwarder: new Forwarder({ owners: owners.seenBy(id), credential: CREDENTIAL, own: () => place }),
  });
  const port = await server.listen('127.0.0.1', 0);
  const line = await startLine(port);
  place = { ...place, address: `http://127.0.0.1:${line.port}` };
  t.teardown(async () => {
    line.cut();
    await server.close(0);
  });
  return { ...place, port, kill: line.cut, received: line.received, lines };
}

/** The way from other servers to this one. When it is cut, they see what they would see of a server that was killed. */
async function startLine(
  port: number,
): Promise<Pick<ServerOfFarm, 'port' | 'received'> & { readonly cut: () => void }> {
  const received: Buffer[] = [];
  const sockets = new Set<Socket>();
  const line = createServer((socket) => {
    const onward = connect(port, '127.0.0.1');
    for (const end of [socket, onward]) {
      sockets.add(end);
      end.on('error', () => undefined);
    }
    socket.on('data', (piece: Buffer) => {
      if (received.length < KEPT_PIECES) received.push(piece);
    });
    socket.pipe(onward).pipe(socket);
    socket.on('close', () => onward.destroy());
    onward.on('close', () => socket.destroy());
  });
  line.listen(0, '127.0.0.1');
  await once(line, 'listening');
  const cut = (): void => {
    line.close();
    for (const socket of sockets) socket.destroy();
  };
  return { port: (line.address() as AddressInfo).port, cut, received: () => received };
}

/** The byte at a position of the body of `/bytes`. */
function byteAt(position: number): number {
  return (position * 7 + (position >> 8)) & 0xff;
}

export function bytesOf(from: number, length: number): Buffer {
  const bytes = Buffer.allocUnsafe(length);
  for (let index = 0; index < length; index++) bytes[index] = byteAt(from + index);
  return bytes;
}

function tableOf(server: string, { tail, duplex, frames, hang, beforeBody }: Behaviour): RouteTable {
  const head = { tag: 'Test', summary: 'A part of a project', access: 'signed in' } as const;
  const params = z.object({ project_id: z.string() });
  const project = '/v2/projects/{project_id}';
  const of = { ...head, params, answers: { 200: z.object({}) } };
  const raw = { ...head, params, answers: { 200: { media: 'application/x-test' } } };
  const missing = (): never => {
    throw new Error('the test has no such behaviour');
  };
  const wait = ({ exchange }: { readonly exchange: Exchange }): 'streamed' => {
    (hang ?? missing)(exchange);
    return 'streamed';
  };
  const told = ({ exchange }: { readonly exchange: Exchange }): ReturnType<typeof json> => {
    const { id, address, scheme, host, caller, path, query, headers, ticketId } = exchange;
    const { name, userId, tokenId, sessionId } = caller;
    return json(200, {
      ...{ server, id, address, scheme, host, path, query, ticketId, headers },
      ...{ name, userId, tokenId, sessionId },
    });
  };
  return {
    routes: [
      ...placed('farm', [
        route({
          method: 'GET',
          path: '/v2/templates',
          ...head,
          params: z.object({}),
          answers: of.answers,
          handle: told,
        }),
        route({
          method: 'GET',
          path: project,
          ...of,
          headers: ['range', 'te', 'x-forwarded-for', 'x-odd'],
          handle: told,
        }),
        route({
          method: 'PUT',
          path: project,
          ...of,
          body: z.unknown(),
          handle: ({ body }) => json(200, body),
        }),
        route({ method: 'GET', path: `${project}/hang`, ...of, handle: wait }),
        route({ method: 'POST', path: `${project}/hang`, ...of, handle: wait }),
        route({
          ...{ method: 'POST', path: `${project}/body`, ...of, body: 'raw', headers: RAW_BODY_HEADERS },
          handle: async ({ exchange }) => {
            const body = new RawBody(exchange);
            await beforeBody?.();
            const digest = createHash('sha256');
            let octets = 0;
            const sink = {
              write: (bytes: Uint8Array) => {
                octets += bytes.length;
                digest.update(bytes);
              },
            };
            await body.into(sink);
            return json(200, { octets, announced: body.length ?? null, digest: digest.digest('hex') });
          },
        }),
        route({
          ...{
            method: 'GET',
            path: `${project}/bytes`,
            ...raw,
            query: z.object({ size: z.coerce.number() }),
          },
          handle: ({ exchange, query: { size } }) => {
            exchange.streamSized('application/x-test', [['ETag', '"odd"']], size, {
              give: (position, length, use) => {
                use(bytesOf(position, Math.min(length, 64 * 1024)));
                return 'given';
              },
              close: () => undefined,
            });
            return 'streamed';
          },
        }),
        route({
          ...{ method: 'GET', path: `${project}/tail`, ...raw },
          handle: ({ exchange }) => exchange.streamTail('application/x-test', (tail ?? missing)()),
        }),
        route({
          ...{ method: 'GET', path: `${project}/events`, ...raw, goesOn: true },
          handle: ({ exchange }) => exchange.streamTail('application/x-test', (tail ?? missing)()),
        }),
      ]),
    ],
    sockets: placed('farm', [
      {
        ...{ path: `${project}/events/ws`, ...head, params, goesOn: true },
        check: () => undefined,
        open: (_params, send) => (frames ?? missing)(send),
      },
      socketRoute({
        ...{ path: `${project}/duplex`, ...head, params },
        check: () => undefined,
        openDuplex: (_request, connection) => (duplex ?? missing)(connection),
      }),
    ]),
  };
}
