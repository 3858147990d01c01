/** The TCP port of a console that is a Unix socket of its program. */
import { once } from 'node:events';
import { connect, createServer, type AddressInfo, type Socket } from 'node:net';
import { join } from 'node:path';
import t, { type Test } from 'tap';
import { SocketRelay } from '../../../src/run/consoles/socket-relay.js';
import { MOST_CLIENTS } from '../../../src/run/consoles/console-hub.js';
import { eventually } from '../../support/eventually.js';
import { scratchFolder } from '../../support/scratch.js';

const HOST = '127.0.0.1';
const PIECE = 64 * 1024 * 1024;

async function freePort(): Promise<number> {
  const server = createServer().listen(0, HOST);
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  server.close();
  await once(server, 'close');
  return port;
}

/** A relay, and a program that answers at its socket as `serve` says. */
async function relayTo(
  t: Test,
  serve: (socket: Socket) => void,
): Promise<{ relay: SocketRelay; port: number }> {
  const path = join(scratchFolder(t), 'console');
  const sockets = new Set<Socket>();
  const program = createServer((socket) => {
    sockets.add(socket);
    socket.on('error', () => undefined);
    serve(socket);
  }).listen(path);
  await once(program, 'listening');
  const port = await freePort();
  const relay = new SocketRelay({ reach: { host: HOST, serves: () => true }, port }, () => undefined);
  await relay.listen();
  relay.open = () => Promise.resolve(connect({ path }));
  t.teardown(async () => {
    await relay.close();
    for (const socket of sockets) socket.destroy();
    program.close();
  });
  return { relay, port };
}

async function client(t: Test, port: number): Promise<Socket> {
  const socket = connect({ host: HOST, port });
  socket.on('error', () => undefined);
  t.teardown(() => socket.destroy());
  await once(socket, 'connect');
  return socket;
}

void t.test('bytes pass both ways, for several clients at once, up to the last', async (t) => {
  const { port } = await relayTo(t, (socket) => {
    socket.write('hello');
    socket.once('data', (bytes) => socket.end(Buffer.concat([bytes, Buffer.alloc(1_000_000)])));
  });
  for (const one of await Promise.all([client(t, port), client(t, port)])) {
    const received: Buffer[] = [];
    one.on('data', (bytes: Buffer) => received.push(bytes));
    one.write(Buffer.from([0, 255, 13]));
    await once(one, 'end');
    const bytes = Buffer.concat(received);
    t.equal(bytes.length, 1_000_008);
    t.same(bytes.subarray(0, 8), Buffer.from([...Buffer.from('hello'), 0, 255, 13]));
  }
});

void t.test('a client is cut where nothing serves it', async (t) => {
  const { relay, port } = await relayTo(t, () => undefined);
  const missing = { path: join(scratchFolder(t), 'missing') };
  const openers = [
    undefined,
    () => Promise.resolve(connect(missing)),
    () => Promise.reject(new Error('none')),
  ];
  for (const open of openers) {
    relay.open = open;
    const one = await client(t, port);
    one.resume();
    await once(one, 'close');
  }
  t.pass();
});

void t.test('a program that does not read holds up its own client, and gets all in the end', async (t) => {
  const served: Socket[] = [];
  const { port } = await relayTo(t, (socket) => {
    served.push(socket);
    if (served.length === 1) socket.pause();
    else socket.pipe(socket);
  });
  const slow = await client(t, port);
  await eventually('it is served', () => served[0]);
  slow.write(Buffer.alloc(PIECE));
  const other = await client(t, port);
  other.write('hello');
  t.same(await once(other, 'data'), [Buffer.from('hello')]);
  t.equal(slow.writableLength, PIECE, 'nobody has taken its bytes');
  let received = 0;
  served[0]?.on('data', (bytes: Buffer) => {
    received += bytes.length;
  });
  served[0]?.resume();
  slow.end();
  if (served[0] !== undefined) await once(served[0], 'end');
  t.equal(received, PIECE);
});

void t.test('the end of the relay cuts all, and there are so many at most', async (t) => {
  const served = new Set<Socket>();
  const { relay, port } = await relayTo(t, (socket) => served.add(socket));
  const clients = await Promise.all(Array.from({ length: MOST_CLIENTS + 1 }, () => client(t, port)));
  await eventually('all are served', () => served.size === MOST_CLIENTS || undefined);
  t.equal(served.size, MOST_CLIENTS);
  for (const one of clients) one.resume();
  const closed = clients.filter((one) => !one.destroyed).map((one) => once(one, 'close'));
  await relay.close();
  await Promise.all(closed);
  await t.rejects(client(t, port), { code: 'ECONNREFUSED' });
});
