import t from 'tap';
import {
  WRITER_CONTROL,
  WRITER_CONTROL_WORDS,
  type WriterMessage,
  type WriterStart,
} from '../../src/capture/writer-orders.js';
import { WriterRun } from '../../src/capture/writer-run.js';
import { eventually } from '../support/eventually.js';

interface Life {
  readonly start: WriterStart;
  readonly signal: AbortSignal;
  readonly end: () => void;
  readonly fail: (error: unknown) => void;
}

function runOf(messages: WriterMessage[] = []): { run: WriterRun; life: Life } {
  let life: Life | undefined;
  const control = new SharedArrayBuffer(WRITER_CONTROL_WORDS * Int32Array.BYTES_PER_ELEMENT);
  const run = new WriterRun(
    { control, memories: [], floorOctets: 0 },
    (start, _, signal) =>
      new Promise<void>((end, fail) => {
        life = { start, signal, end, fail };
      }),
    (message) => messages.push(message),
  );
  if (life === undefined) throw new Error('the task was not started');
  return { run, life };
}

const beat = ({ start }: Life): number =>
  Atomics.add(new Int32Array(start.control), WRITER_CONTROL.heartbeat, 1);

void t.test('orders go in, answers and reports come out', async (t) => {
  const messages: WriterMessage[] = [];
  const { run, life } = runOf(messages);
  const received: unknown[] = [];
  life.start.orders.on('message', (order) => received.push(order));
  const order = { number: 4, command: { task: 'end', input: { id: 1 } } } as const;
  run.send(order);
  await eventually('the order arrives', () => received[0]);
  t.same(received, [order]);
  life.start.orders.postMessage({ kind: 'trouble', id: 1, reason: 'none' });
  await eventually('the report arrives', () => messages[0]);
  t.same(messages, [{ kind: 'trouble', id: 1, reason: 'none' }]);
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
