/** Live streams over HTTP: slow readers, readers that vanish, many at once. */
import t from 'tap';
import { liveTails, type TailSource } from '../../../src/http/streams/tail-flow.js';
import { eventually } from '../../support/eventually.js';
import { headerOf, RawConnection, rawRequest } from '../../support/raw-client.js';
import { rounds } from '../../support/rounds.js';
import { seededRandom } from '../../support/seeded-random.js';
import { TailLog } from '../../support/tail-log.js';
import { startStreamServer, STREAM_MEDIA } from '../../support/stream-server.js';

const MEGABYTE = 1024 * 1024;
const HEAD = 24;

let log = new TailLog(HEAD, 1);
let special: (() => TailSource) | undefined;
let sources = 0;
const { port, close } = await startStreamServer(t, {
  tail: () => (special === undefined ? log.source(++sources, (sources % 4) / 4) : special()),
});

function newLog(size: number): TailLog {
  log = new TailLog(size, 20_261_121);
  log.append(HEAD);
  special = undefined;
  return log;
}

async function openTail(): Promise<RawConnection> {
  const connection = await RawConnection.open(port);
  connection.send('GET', '/tail?which=x');
  return connection;
}

const noneLeft = (): Promise<true> =>
  eventually('every stream has ended', () => liveTails() === 0 || undefined);

void t.test('the head and the first bytes come at once, and the end when it is over', async (t) => {
  newLog(1000);
  const connection = await openTail();
  const head = await connection.head();
  t.equal(head.status, 200);
  t.equal(headerOf(head, 'Content-Type'), STREAM_MEDIA);
  t.equal(headerOf(head, 'Transfer-Encoding'), 'chunked');
  t.equal(headerOf(head, 'Content-Length'), undefined);
  t.equal(headerOf(head, 'X-Which'), 'x');
  let received = Buffer.alloc(0);
  while (received.length < HEAD) received = Buffer.concat([received, await connection.chunk()]);
  t.equal(liveTails(), 1);
  log.append(1000);
  while (received.length < 1000) received = Buffer.concat([received, await connection.chunk()]);
  t.ok(received.equals(log.bytes));
  log.end();
  t.equal((await connection.chunk()).length, 0);
  t.equal(log.closed, 1);
  t.equal(liveTails(), 0);
  connection.send('GET', '/tail?which=y');
  t.equal((await connection.reply()).body.length, 1000, 'the connection serves the next request');
  connection.close();
});

void t.test('HEAD is answered with the head alone, and closes its source', async (t) => {
  newLog(1000);
  const reply = await rawRequest(port, 'HEAD', '/tail?which=x');
  t.equal(reply.status, 200);
  t.equal(headerOf(reply, 'Content-Type'), STREAM_MEDIA);
  t.same([log.opened, log.closed, liveTails()], [1, 1, 0]);
});

void t.test('two hundred streams at once: each client has every byte', async (t) => {
  newLog(MEGABYTE / 2);
  const connections = await Promise.all(Array.from({ length: 200 }, openTail));
  const replies = Promise.all(connections.map((connection) => connection.reply('GET', 60_000)));
  await eventually('all have begun', () => liveTails() === 200 || undefined);
  while (log.head < log.bytes.length) {
    log.append(50_000);
    await new Promise((resolve) => setImmediate(resolve));
  }
  log.end();
  const bodies = (await replies).map(({ body }) => body);
  t.equal(bodies.filter((body) => body.equals(log.bytes)).length, 200);
  await noneLeft();
  t.equal(log.closed, 200);
  for (const connection of connections) connection.close();
});

void t.test('a client that reads nothing holds up nobody, and goes on where it stood', async (t) => {
  const log = newLog(24 * MEGABYTE);
  const [deaf, reader] = [await openTail(), await openTail()];
  await deaf.head();
  deaf.socket.pause();
  const reply = reader.reply('GET', 60_000);
  while (log.head < log.bytes.length) {
    log.append(MEGABYTE);
    await new Promise((resolve) => setImmediate(resolve));
  }
  log.end();
  t.ok((await reply).body.equals(log.bytes));
  t.equal(log.closed, 1, 'the other one has still its source');
  t.equal(liveTails(), 1);
  deaf.socket.resume();
  const chunks: Buffer[] = [];
  for (let chunk = await deaf.chunk(); chunk.length > 0; chunk = await deaf.chunk()) chunks.push(chunk);
  t.ok(Buffer.concat(chunks).equals(log.bytes));
  t.equal(log.closed, 2);
  for (const connection of [deaf, reader]) connection.close();
});

void t.test('clients that read in fits and starts miss nothing', async (t) => {
  // Each time that a client's buffers are full is a chance to lose what did not fit.
  newLog(24 * MEGABYTE);
  log.append(log.bytes.length);
  log.end();
  const random = seededRandom(9);
  for (let round = 0; round < rounds(2, 10); round++) {
    const connection = await openTail();
    await connection.head();
    const { socket } = connection;
    const stutter = setInterval(() => {
      if (random() < 0.5) socket.pause();
      else socket.resume();
    }, 2);
    const chunks: Buffer[] = [];
    for (let chunk = await connection.chunk(); chunk.length > 0; chunk = await connection.chunk())
      chunks.push(chunk);
    clearInterval(stutter);
    t.ok(Buffer.concat(chunks).equals(log.bytes));
    connection.close();
  }
});

void t.test('clients that vanish at any stage leave no source behind', async (t) => {
  newLog(8 * MEGABYTE);
  const before = log.opened;
  for (let round = 0; round < 30; round++) {
    const connection = await openTail();
    if (round % 3 > 0) await connection.head();
    if (round % 5 === 0) connection.socket.pause();
    log.append(300_000);
    if (round % 2 === 0) await new Promise((resolve) => setImmediate(resolve));
    if (round % 4 === 0) connection.close();
    else connection.vanish();
  }
  await noneLeft();
  await eventually('every source is closed', () => log.closed === log.opened || undefined);
  t.ok(log.opened > before);
  t.equal(log.waiting, 0);
});

void t.test('a stream that breaks has no end that a client could take for one', async (t) => {
  let turn = 0;
  let closed = 0;
  for (const next of [
    () => Promise.reject(new Error('the disk is gone')),
    () => {
      throw new Error('a fault');
    },
  ]) {
    turn = 0;
    special = () => ({
      next: (use) => {
        if (turn++ > 0) return next();
        use(Buffer.from('beginning'));
        return 'given';
      },
      onReady: () => undefined,
      close: () => closed++,
    });
    const connection = await openTail();
    const text = (await connection.rest()).toString();
    t.notMatch(text, /\r\n0\r\n/);
    t.equal(liveTails(), 0);
  }
  t.equal(closed, 2);
});

void t.test('a log that cannot be opened is refused as usual', async (t) => {
  special = () => {
    throw new Error('a fault');
  };
  t.equal((await rawRequest(port, 'GET', '/tail?which=x')).status, 500);
  t.equal((await rawRequest(port, 'GET', '/tail?which=too+long')).status, 400);
  special = undefined;
});

void t.test('when the server stops, streams end between two records', async (t) => {
  newLog(MEGABYTE);
  const connection = await openTail();
  const reply = connection.reply();
  log.append(MEGABYTE / 2);
  await eventually('it waits', () => log.waiting || undefined);
  await close(5000);
  t.ok((await reply).body.equals(log.bytes.subarray(0, log.head)));
  t.equal(log.closed, log.opened);
});
