import t from 'tap';
import {
  LOOP_CONTROL,
  LOOP_CONTROL_WORDS,
  type LoopMessage,
  type LoopStart,
  LoopRun,
} from '../../../src/base/threads/worker-loop.js';
import { eventually } from '../../support/eventually.js';

interface Parts {
  readonly folder: string;
}

interface Life {
  readonly start: Parts & LoopStart;
  readonly move: readonly unknown[];
  readonly signal: AbortSignal;
  readonly end: () => void;
  readonly fail: (error: unknown) => void;
}

function runOf(messages: LoopMessage<string>[] = []): { run: LoopRun<Parts, string>; life: Life } {
  let life: Life | undefined;
  const control = new SharedArrayBuffer(LOOP_CONTROL_WORDS * Int32Array.BYTES_PER_ELEMENT);
  const run = new LoopRun<Parts, string>(
    control,
    { folder: 'somewhere' },
    (start, move, signal) =>
      new Promise<void>((end, fail) => {
        life = { start, move, signal, end, fail };
      }),
    (message) => messages.push(message),
  );
  if (life === undefined) throw new Error('the task was not started');
  return { run, life };
}

const beat = ({ start }: Life): number =>
  Atomics.add(new Int32Array(start.control), LOOP_CONTROL.heartbeat, 1);

void t.test('parts and orders go in, answers and reports come out', async (t) => {
  const messages: LoopMessage<string>[] = [];
  const { run, life } = runOf(messages);
  t.equal(life.start.folder, 'somewhere');
  t.ok(life.move.length === 1 && life.move[0] === life.start.orders);
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

void t.test('a life that was killed has ended when its thread has gone, not before', async (t) => {
  const { run, life } = runOf();
  let reason: string | undefined;
  void run.ended.then((told) => (reason = told));
  beat(life);
  run.kill();
  t.ok(life.signal.aborted);
  life.fail(new Error('aborted'));
  for (let turns = 0; turns < 20; turns++) await new Promise((resolve) => setImmediate(resolve));
  t.equal(reason, undefined, 'it may be in a system call that writes');
  life.start.orders.close();
  // Nothing of it keeps a process alive, so that is looked for.
  t.equal(await eventually('it has ended', () => reason), 'aborted');
});

void t.test('a thread that never came to life is not waited for', async (t) => {
  const { run, life } = runOf();
  life.fail('stillborn');
  t.equal(await run.ended, 'stillborn');
});
