/** Live streams over WebSocket. */
import { once } from 'node:events';
import { setTimeout as wait } from 'node:timers/promises';
import t from 'tap';
import { WebSocket } from 'ws';
import { Refusal, refusals } from '../../../src/base/errors/errors.js';
import { LARGEST_PIECE, liveTails, type TailSource } from '../../../src/http/streams/tail-flow.js';
import { closeReason } from '../../../src/http/streams/tail-socket.js';
import { eventually } from '../../support/eventually.js';
import { TailLog } from '../../support/tail-log.js';
import { startStreamServer } from '../../support/stream-server.js';

const MEGABYTE = 1024 * 1024;

let log = new TailLog(1, 1);
let open = (which: string): TailSource | Promise<TailSource> => log.source(Number(which), Number(which) / 4);
const asLog = open;
const { port } = await startStreamServer(t, { tail: (which) => open(which) });

interface Viewer {
  readonly socket: WebSocket;
  readonly messages: Buffer[];
  readonly closed: Promise<{ code: number; reason: string; bytes: Buffer }>;
}

function view(query: string): Viewer {
  const socket = new WebSocket(`ws://127.0.0.1:${port}/tail/ws${query}`);
  const messages: Buffer[] = [];
  socket.on('message', (message: Buffer, isBinary) => {
    t.equal(isBinary, true);
    messages.push(message);
  });
  const closed = new Promise<{ code: number; reason: string; bytes: Buffer }>((resolve) => {
    socket.on('close', (code, reason) => {
      resolve({ code, reason: reason.toString(), bytes: Buffer.concat(messages) });
    });
  });
  socket.on('error', () => undefined);
  return { socket, messages, closed };
}

function newLog(size: number): void {
  log = new TailLog(size, 8);
  open = asLog;
}

async function fill(): Promise<void> {
  while (log.head < log.bytes.length) {
    log.append(100_000);
    await new Promise((resolve) => setImmediate(resolve));
  }
  log.end();
}

void t.test('binary messages that are small enough, all of them, and then 1000', async (t) => {
  newLog(4 * MEGABYTE);
  const viewers = Array.from({ length: 20 }, (_, index) => view(`?which=${index % 5}`));
  await fill();
  for (const { closed, messages } of viewers) {
    const { code, bytes } = await closed;
    t.equal(code, 1000);
    t.ok(bytes.equals(log.bytes));
    t.ok(messages.every(({ length }) => length <= LARGEST_PIECE));
  }
  t.equal(liveTails(), 0);
  t.equal(log.closed, log.opened);
});

void t.test('clients that vanish leave no source behind', async (t) => {
  newLog(8 * MEGABYTE);
  for (let round = 0; round < 20; round++) {
    const { socket } = view('?which=2');
    if (round % 3 > 0) await once(socket, 'open');
    log.append(300_000);
    if (round % 2 === 0) await new Promise((resolve) => setImmediate(resolve));
    socket.terminate();
  }
  await eventually('every stream has ended', () => liveTails() === 0 || undefined);
  await eventually('every source is closed', () => log.closed === log.opened || undefined);
  t.ok(log.opened > 0);
});

void t.test('a client that goes while its source is opened leaves none', async (t) => {
  newLog(1000);
  let go: () => void = () => undefined;
  let isOpening = false;
  open = async (which) => {
    isOpening = true;
    await new Promise<void>((resolve) => (go = resolve));
    return asLog(which);
  };
  const { socket } = view('?which=0');
  await eventually('it is being opened', () => isOpening || undefined);
  socket.terminate();
  await wait(200);
  go();
  await eventually('it is closed', () => (log.opened === 1 && log.closed === 1) || undefined);
  t.equal(liveTails(), 0);
});

void t.test('a stream that breaks ends with 1011 and the reason', async (t) => {
  const failing = (error: Error): void => {
    open = () => ({ next: () => Promise.reject(error), onReady: () => undefined, close: () => undefined });
  };
  failing(refusals.fileMissing());
  t.match(await view('?which=0').closed, { code: 1011, reason: '404: Not Found' });
  failing(new Error('a secret'));
  t.match(await view('?which=0').closed, {
    code: 1011,
    reason: 'the server could not go on with this stream',
  });
  t.equal(closeReason(new Refusal(400, 'long', 'ü'.repeat(100))), 'ü'.repeat(61));
});

void t.test('refusals come before the upgrade', async (t) => {
  const statusOf = async (query: string): Promise<number | undefined> => {
    const { socket } = view(query);
    const [, response] = (await once(socket, 'unexpected-response')) as [unknown, { statusCode?: number }];
    socket.terminate();
    return response.statusCode;
  };
  t.equal(await statusOf(''), 400, 'a query that its schema refuses');
  t.equal(await statusOf('?which=too+long'), 400);
  open = () => {
    throw refusals.captureInactive();
  };
  t.equal(await statusOf('?which=0'), 409);
  t.equal(liveTails(), 0);
});
