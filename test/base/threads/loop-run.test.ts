import { MessageChannel, type MessagePort } from 'node:worker_threads';
import t from 'tap';
import {
  LOOP_CONTROL,
  LOOP_CONTROL_WORDS,
  type LoopMessage,
  type LoopStart,
  LoopRun,
} from '../../../src/base/threads/loop-run.js';
import { eventually } from '../../support/eventually.js';

interface Parts {
  readonly folder: string;
  readonly memory: SharedArrayBuffer;
  readonly listener: MessagePort | undefined;
}

interface Life {
  readonly start: Parts & LoopStart;
  readonly move: readonly unknown[];
  readonly signal: AbortSignal;
  readonly end: () => void;
  readonly fail: (error: unknown) => void;
}

const MEMORY = new SharedArrayBuffer(8);

const newControl = (): SharedArrayBuffer =>
  new SharedArrayBuffer(LOOP_CONTROL_WORDS * Int32Array.BYTES_PER_ELEMENT);

function runOf(
  messages: LoopMessage<string>[] = [],
  listener?: MessagePort,
): { run: LoopRun<Parts, string>; life: Life } {
  let life: Life | undefined;
  const run = new LoopRun<Parts, string>(
    newControl(),
    { folder: 'somewhere', memory: MEMORY, listener },
    (start, move, signal) =>
      new Promise<void>((end, fail) => {
        life = { start, move, signal, end, fail };
      }),
    (message) => messages.push(message),
  );
  if (life === undefined) throw new Error('the task was not started');
  return { run, life };
}

void t.test('the shared words are apart, and all start at 0', (t) => {
  const places = Object.values(LOOP_CONTROL);
  t.equal(new Set(places).size, LOOP_CONTROL_WORDS);
  const words = new Int32Array(newControl());
  t.same(
    places.map((place) => words[place]),
    places.map(() => 0),
  );
  t.end();
});

void t.test('parts and orders go in, answers and reports come out', async (t) => {
  const messages: LoopMessage<string>[] = [];
  const { run, life } = runOf(messages);
  t.equal(life.start.folder, 'somewhere');
  t.equal(life.start.memory, MEMORY);
  t.ok(life.move.length === 1 && life.move[0] === life.start.orders, 'shared memory need not be moved');
  t.notOk(life.signal.aborted);
  const received: unknown[] = [];
  life.start.orders.on('message', (order) => received.push(order));
  const order = { number: 4, request: { task: 'echo', input: { id: 1 } } } as const;
  run.send(order);
  await eventually('the order arrives', () => received[0]);
  t.same(received, [order]);
  const told = [
    { kind: 'report', report: 'first' },
    { kind: 'answer', number: 4, outcome: { value: 1 } },
  ] as const;
  for (const message of told) life.start.orders.postMessage(message);
  await eventually('the answer arrives', () => messages[1]);
  t.same(messages, told);
  life.start.orders.close();
  life.end();
  t.equal(await run.ended, 'it came to its end');
});

void t.test('the last messages of a thread are heard before its end', async (t) => {
  const messages: LoopMessage<string>[] = [];
  const { run, life } = runOf(messages);
  const told = ['first', 'second'].map((report) => ({ kind: 'report', report }) as const);
  for (const message of told) life.start.orders.postMessage(message);
  life.fail(new Error('out of luck'));
  t.equal(await run.ended, 'out of luck');
  t.same(messages, told);
});

void t.test('a port of the setup is moved with the orders', async (t) => {
  const { port1, port2 } = new MessageChannel();
  const { run, life } = runOf([], port2);
  t.equal(life.start.listener, port2);
  t.same(new Set(life.move), new Set([life.start.orders, port2]));
  life.end();
  await run.ended;
  port1.close();
});

void t.test('the reason of an end is a text, whatever the error was', async (t) => {
  for (const [error, reason] of [
    [new TypeError('out of luck'), 'out of luck'],
    ['stillborn', 'stillborn'],
    [undefined, 'undefined'],
  ] as const) {
    const { run, life } = runOf();
    life.fail(error);
    t.equal(await run.ended, reason);
  }
});

void t.test('a life that was killed has ended when its thread has gone, not before', async (t) => {
  const { run, life } = runOf();
  let reason: string | undefined;
  void run.ended.then((told) => (reason = told));
  t.notOk(run.isKilled);
  run.kill();
  t.ok(life.signal.aborted);
  t.ok(run.isKilled);
  for (let turns = 0; turns < 20; turns++) await new Promise((resolve) => setImmediate(resolve));
  t.equal(reason, undefined, 'it may be in a system call that writes');
  life.fail(new Error('aborted'));
  t.equal(await run.ended, 'aborted');
  run.kill();
});

void t.test('a thread that cannot be started is a life that has ended', async (t) => {
  const run = new LoopRun<object, string>(
    newControl(),
    {},
    () => {
      throw new Error('no descriptor is left');
    },
    () => undefined,
  );
  t.equal(await run.ended, 'no descriptor is left');
});
