/** Streams on which nothing moves for longer than the library keeps a connection by itself. */
import { once } from 'node:events';
import { setTimeout as wait } from 'node:timers/promises';
import t from 'tap';
import { WebSocket } from 'ws';
import type { ChunkedResponse } from '../../../src/http/streams/chunked-response.js';
import { eventually } from '../../support/eventually.js';
import { RandomBytes } from '../../support/random.js';
import { RawConnection } from '../../support/raw-client.js';
import { startStreamServer } from '../../support/stream-server.js';
import { TailLog } from '../../support/tail-log.js';

/** The library gives up after ten seconds, and looks every four. */
const HELD_MS = 16_000;
/** More than the system holds for a client. */
const LARGE = 24 * 1024 * 1024;

// All at the same time: the silence is what is tested, so they share it.
t.jobs = 5;

const texts: ChunkedResponse[] = [];
const logs = new Map<string, TailLog>();
const cold = { bytes: new RandomBytes(8).next(100_000), read: Promise.resolve(), isRead: false };

const { port } = await startStreamServer(t, {
  tail: (which) => {
    const log = logs.get(which);
    if (log === undefined) throw new Error(`there is no log ${which}`);
    return log.source(1, 0.25);
  },
  texts: (stream) => texts.push(stream),
  bytes: () => ({
    length: cold.bytes.length,
    give: (position, length, use) => {
      if (!cold.isRead) return cold.read;
      use(Uint8Array.from(cold.bytes.subarray(position, position + length)));
      return 'given';
    },
    close: () => undefined,
  }),
});

function newLog(which: string, size: number): TailLog {
  const log = new TailLog(size, 8);
  logs.set(which, log);
  return log;
}

/** A log that is complete. */
function wholeLog(which: string): TailLog {
  const log = newLog(which, LARGE);
  log.append(LARGE);
  log.end();
  return log;
}

async function open(path: string): Promise<RawConnection> {
  const connection = await RawConnection.open(port);
  connection.send('GET', path);
  return connection;
}

async function restOf(connection: RawConnection): Promise<Buffer> {
  const chunks: Buffer[] = [];
  for (let chunk = await connection.chunk(); chunk.length > 0; chunk = await connection.chunk())
    chunks.push(chunk);
  return Buffer.concat(chunks);
}

void t.test('a client that takes no texts is kept, and then has all', async (t) => {
  const connection = await open('/texts');
  connection.socket.pause();
  const stream = await eventually('the stream is open', () => texts.pop());
  const line = `${'ü'.repeat(50_000)}\n`;
  for (let count = 0; count < 300; count++) stream.send(line);
  stream.end();
  await wait(HELD_MS);
  t.equal(connection.isClosed, false);
  connection.socket.resume();
  t.ok((await connection.reply('GET', 60_000)).text === line.repeat(300));
  connection.close();
});

void t.test('a client that reads nothing of a live stream is kept, and goes on where it stood', async (t) => {
  const log = wholeLog('deaf');
  const connection = await open('/tail?which=deaf');
  await connection.head();
  connection.socket.pause();
  await wait(HELD_MS);
  t.equal(connection.isClosed, false);
  t.equal(log.closed, 0, 'it still has its source');
  connection.socket.resume();
  t.ok((await restOf(connection)).equals(log.bytes));
  t.equal(log.closed, 1);
  connection.close();
});

void t.test('a stream that has nothing to say is kept', async (t) => {
  const log = newLog('quiet', 1000);
  log.append(24);
  const connection = await open('/tail?which=quiet');
  await connection.head();
  await eventually('it waits', () => log.waiting || undefined);
  await wait(HELD_MS);
  log.append(1000);
  log.end();
  t.ok((await restOf(connection)).equals(log.bytes));
  connection.close();
});

void t.test('a WebSocket client that does not read is kept, and then has all', async (t) => {
  const log = wholeLog('ws');
  const socket = new WebSocket(`ws://127.0.0.1:${port}/tail/ws?which=ws`);
  const messages: Buffer[] = [];
  socket.on('message', (message: Buffer) => messages.push(message));
  const closed = once(socket, 'close') as Promise<[code: number]>;
  await once(socket, 'open');
  socket.pause();
  await wait(HELD_MS);
  t.equal(log.closed, 0, 'it is held back, and kept');
  socket.resume();
  const [code] = await closed;
  t.equal(code, 1000);
  t.ok(Buffer.concat(messages).equals(log.bytes));
});

void t.test('a slow disk is not the fault of its client', async (t) => {
  cold.read = wait(HELD_MS).then(() => {
    cold.isRead = true;
  });
  const connection = await open('/bytes');
  t.ok((await connection.reply('GET', 30_000)).body.equals(cold.bytes));
  connection.close();
});
