/** WebSockets in both directions, each end of them misbehaving. */
import { once } from 'node:events';
import { pino } from 'pino';
import t, { type Test } from 'tap';
import { WebSocket } from 'ws';
import { z } from 'zod';
import { Refusal } from '../../../src/base/errors/errors.js';
import { Descriptors } from '../../../src/engine/sockets/descriptors.js';
import { socketRoute } from '../../../src/http/route.js';
import { placed } from '../../../src/http/route-scope.js';
import { HttpServer } from '../../../src/http/server.js';
import type { DuplexConnection, DuplexReceiver } from '../../../src/http/streams/duplex-socket.js';
import { ConsoleHub } from '../../../src/run/consoles/console-hub.js';
import { eventually } from '../../support/eventually.js';
import { newGate } from '../../support/new-gate.js';

interface Rig {
  readonly path: string;
  readonly close: () => Promise<void>;
}

interface Behaviour {
  readonly check?: (name: string) => void | Promise<void>;
  readonly open: (name: string, connection: DuplexConnection) => DuplexReceiver;
}

async function serve(t: Test, { check = () => undefined, open }: Behaviour): Promise<Rig> {
  const server = new HttpServer({
    rates: () => undefined,
    ended: () => undefined,
    gate: newGate(),
    table: {
      routes: [],
      sockets: placed('here', [
        socketRoute({
          path: '/consoles/{name}/ws',
          tag: 'Test',
          access: 'anyone',
          summary: 'A console',
          params: z.object({ name: z.string() }),
          check: ({ name }) => check(name),
          openDuplex: ({ params: { name } }, connection) => open(name, connection),
        }),
      ]),
    },
    accessLogSample: () => 0,
    maxJsonBody: () => 1000,
    name: 'Test',
    descriptors: new Descriptors(),
    log: pino({ level: 'silent' }),
  });
  const port = await server.listen('127.0.0.1', 0);
  let closing: Promise<void> | undefined;
  const close = (): Promise<void> => (closing ??= server.close(0));
  t.teardown(close);
  return { close, path: `ws://127.0.0.1:${port}/consoles` };
}

/** A route that leads to the console of a node. */
function consoleOf(hub: ConsoleHub, closed: () => void = () => undefined): Behaviour {
  return {
    open: (_name, connection) => {
      const seat = hub.join({
        name: 'somebody',
        isWatching: false,
        send: (bytes) => connection.send(bytes),
        cut: () => {
          connection.end(1000, 'the console was reset');
        },
      });
      return {
        received: (bytes) => {
          seat.type(bytes);
        },
        closed: () => {
          seat.leave();
          closed();
        },
      };
    },
  };
}

class Viewer {
  readonly socket: WebSocket;
  readonly ended: Promise<{ readonly code: number; readonly reason: string }>;
  /** The status of an answer that is no upgrade. */
  readonly refused: Promise<number | undefined>;
  readonly #messages: Buffer[] = [];

  constructor(t: Test, url: string) {
    const socket = (this.socket = new WebSocket(url));
    socket.on('message', (message: Buffer, isBinary) => {
      t.equal(isBinary, true);
      this.#messages.push(message);
    });
    socket.on('error', () => undefined);
    this.ended = new Promise((resolve) => {
      socket.on('close', (code, reason) => {
        resolve({ code, reason: reason.toString() });
      });
    });
    this.refused = new Promise((resolve) => {
      socket.on('unexpected-response', (_request, response) => {
        resolve(response.statusCode);
        socket.terminate();
      });
    });
    t.teardown(() => {
      socket.terminate();
    });
  }

  get received(): Buffer {
    return Buffer.concat(this.#messages);
  }

  get length(): number {
    return this.#messages.reduce((sum, { length }) => sum + length, 0);
  }

  /** Resolves when more has been received; fails when the connection is closed instead. */
  async more(): Promise<void> {
    const ended = this.ended.then(({ code }) => {
      throw new Error(`the connection was closed (${code})`);
    });
    await Promise.race([once(this.socket, 'message'), ended]);
  }

  async gets(expected: string): Promise<void> {
    while (this.length < expected.length) await this.more();
    if (this.received.toString() !== expected) throw new Error(`received ${this.received.toString()}`);
    this.#messages.length = 0;
  }
}

void t.test(
  'two clients at one console: what was printed comes first, texts and bytes are typed',
  async (t) => {
    const hub = new ConsoleHub();
    hub.connect({
      write: (bytes) => {
        hub.printed(bytes);
      },
    });
    hub.printed(Buffer.from('PC1> '));
    let closed = 0;
    const { path } = await serve(
      t,
      consoleOf(hub, () => closed++),
    );
    const [one, other] = [new Viewer(t, `${path}/a/ws`), new Viewer(t, `${path}/a/ws`)];
    await Promise.all([one.gets('PC1> '), other.gets('PC1> ')]);
    one.socket.send('pïng\r');
    await Promise.all([one.gets('pïng\r'), other.gets('pïng\r')]);
    other.socket.send(Buffer.from('yes'));
    await Promise.all([one.gets('yes'), other.gets('yes')]);
    one.socket.close();
    await eventually('one has left', () => closed === 1 || undefined);
    hub.reset();
    t.same(await other.ended, { code: 1000, reason: 'the console was reset' });
    t.equal(closed, 2);
  },
);

void t.test('the bytes of a frame are the receiver’s to keep', async (t) => {
  const kept: Uint8Array[] = [];
  const { path } = await serve(t, {
    open: () => ({ received: (bytes) => kept.push(bytes), closed: () => undefined }),
  });
  const { socket } = new Viewer(t, `${path}/a/ws`);
  await once(socket, 'open');
  for (let index = 0; index < 100; index++) socket.send(Buffer.alloc(1000, index));
  await eventually('all have come', () => kept.length === 100 || undefined);
  for (const [index, bytes] of kept.entries()) t.ok(Buffer.alloc(1000, index).equals(bytes));
});

void t.test('a frame that is too long ends the connection', async (t) => {
  let isClosed = false;
  const { path } = await serve(t, {
    open: () => ({ received: () => undefined, closed: () => (isClosed = true) }),
  });
  const { socket, ended } = new Viewer(t, `${path}/a/ws`);
  await once(socket, 'open');
  socket.send(Buffer.alloc(64 * 1024 + 1));
  t.not((await ended).code, 1000);
  t.equal(isClosed, true);
});

void t.test('a client that never reads is cut by the console, and the other gets all', async (t) => {
  const hub = new ConsoleHub();
  let closed = 0;
  const { path } = await serve(
    t,
    consoleOf(hub, () => closed++),
  );
  const [deaf, reader] = [new Viewer(t, `${path}/a/ws`), new Viewer(t, `${path}/a/ws`)];
  await Promise.all([once(deaf.socket, 'open'), once(reader.socket, 'open')]);
  deaf.socket.pause();
  const size = 64 * 1024;
  const pieces = 800;
  const printed = Array.from({ length: pieces }, (_, index) => Buffer.alloc(size, index));
  for (const [index, piece] of printed.entries()) {
    hub.printed(piece);
    while (reader.length < (index - 1) * size) await reader.more();
  }
  while (reader.length < pieces * size) await reader.more();
  t.ok(reader.received.equals(Buffer.concat(printed)));
  t.equal(closed, 1);
  deaf.socket.resume();
  t.equal((await deaf.ended).code, 1006, 'the frame that would say so is behind all the others');
  t.ok(deaf.length < pieces * size);
  t.equal(reader.socket.readyState, WebSocket.OPEN);
});

void t.test('the library leaves the bound to the route', async (t) => {
  let most = 0;
  let isClosed = false;
  const piece = Buffer.alloc(16 * 1024);
  const bound = 900 * 1024;
  const connections: DuplexConnection[] = [];
  const { path } = await serve(t, {
    open: (_name, connection) => {
      connections.push(connection);
      return { received: () => undefined, closed: () => (isClosed = true) };
    },
  });
  const { socket, ended } = new Viewer(t, `${path}/a/ws`);
  await once(socket, 'open');
  const [connection] = connections;
  socket.pause();
  for (let sent = 0; most < bound && sent < 5000; sent++) most = connection?.send(piece) ?? 0;
  t.ok(most >= bound);
  t.ok(most < bound + 2 * piece.length);
  await new Promise((resolve) => setImmediate(resolve));
  t.equal(isClosed, false);
  connection?.end(1000, 'far behind');
  t.equal(isClosed, true);
  t.equal(connection?.send(piece), 0, 'nothing is sent after the end');
  connection?.end(1000, 'twice');
  socket.resume();
  t.equal((await ended).code, 1006);
});

void t.test('a refusal comes before the upgrade', async (t) => {
  let opened = 0;
  const { path } = await serve(t, {
    check: async (name) => {
      if (name === 'late') await new Promise((resolve) => setImmediate(resolve));
      if (name !== 'good') throw new Refusal(409, 'node_stopped', `Node ${name} is not started`);
    },
    open: () => {
      opened++;
      return { received: () => undefined, closed: () => undefined };
    },
  });
  t.equal(await new Viewer(t, `${path}/stopped/ws`).refused, 409);
  t.equal(await new Viewer(t, `${path}/late/ws`).refused, 409);
  t.equal(opened, 0);
  await once(new Viewer(t, `${path}/good/ws`).socket, 'open');
  t.equal(opened, 1);
});

void t.test('a route that ends the connection at once, or cannot open it', async (t) => {
  const closed: string[] = [];
  const { path } = await serve(t, {
    open: (name, connection) => {
      if (name !== 'broken') connection.end(1000, 'nothing to see');
      if (name !== 'short') throw new Refusal(409, 'node_stopped', 'Node PC1 is not started');
      return { received: () => undefined, closed: () => closed.push(name) };
    },
  });
  t.same(await new Viewer(t, `${path}/short/ws`).ended, { code: 1000, reason: 'nothing to see' });
  t.same(await new Viewer(t, `${path}/broken/ws`).ended, { code: 1001, reason: 'Node PC1 is not started' });
  t.same(await new Viewer(t, `${path}/both/ws`).ended, { code: 1000, reason: 'nothing to see' });
  t.same(closed, ['short'], 'what was not opened is not closed');
});

void t.test('the server stops', async (t) => {
  const hub = new ConsoleHub();
  let closed = 0;
  const { close, path } = await serve(
    t,
    consoleOf(hub, () => closed++),
  );
  const viewers = [new Viewer(t, `${path}/a/ws`), new Viewer(t, `${path}/b/ws`)];
  await Promise.all(viewers.map(({ socket }) => once(socket, 'open')));
  await close();
  for (const { ended } of viewers) t.same(await ended, { code: 1001, reason: 'the server is stopping' });
  t.equal(closed, 2);
  hub.printed(Buffer.from('to nobody'));
});
