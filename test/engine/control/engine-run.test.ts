import { MessageChannel, type MessagePort } from 'node:worker_threads';
import t from 'tap';
import { EngineRun, type EngineStart, type RunTask } from '../../../src/engine/control/supervised-engine.js';
import { newEngineMemory } from '../../../src/base/memory/engine-memory.js';
import type { Bell, BellListener } from '../../../src/engine/forwarding/transport.js';
import type { OrderAnswer } from '../../../src/engine/forwarding/orders.js';
import { eventually } from '../../support/eventually.js';

const MEMORY = newEngineMemory(1000, 0);

/** A bell that counts. */
class PaperBell implements Bell {
  readonly #listener = { epoll: 1000, event: 1001 };
  rings = 0;
  isClosed = false;

  newListener(): BellListener {
    return this.#listener;
  }

  ring(): void {
    this.rings++;
  }

  close(): void {
    this.isClosed = true;
  }
}

interface Life {
  readonly start: EngineStart;
  readonly move: readonly MessagePort[];
  readonly signal: AbortSignal;
  readonly end: () => void;
  readonly fail: (error: unknown) => void;
}

function runOf(bell: Bell, answers: OrderAnswer[] = []): { run: EngineRun; life: Life } {
  let life: Life | undefined;
  const task: RunTask = (start, move, signal) =>
    new Promise<void>((end, fail) => {
      life = { start, move, signal, end, fail };
    });
  const run = new EngineRun(MEMORY, bell, task, (answer) => answers.push(answer));
  if (life === undefined) throw new Error('the task was not started');
  return { run, life };
}

void t.test('a life is given the memory, a way in, and a listener', async (t) => {
  const bell = new PaperBell();
  const { run, life } = runOf(bell);
  t.equal(life.start.memory, MEMORY);
  t.equal(life.start.listener, bell.newListener());
  t.same(life.move, [life.start.orders], 'descriptors need not be moved');
  t.notOk(life.signal.aborted);
  life.end();
  t.equal(await run.ended, 'it came to its end');
  t.notOk(bell.isClosed, 'the next life has the same');
});

void t.test('an order is on its way before the bell rings, and the answer comes back', async (t) => {
  const answers: OrderAnswer[] = [];
  const bell = new PaperBell();
  const { run, life } = runOf(bell, answers);
  const received: unknown[] = [];
  life.start.orders.on('message', (order) => received.push(order));
  const order = { number: 4, order: { do: 'inspect', device: 1 } } as const;
  run.send(order);
  t.equal(bell.rings, 1);
  await eventually('the order arrives', () => received[0]);
  t.same(received, [order]);
  life.start.orders.postMessage({ number: 4, value: 'answer' });
  await eventually('the answer arrives', () => answers[0]);
  t.same(answers, [{ number: 4, value: 'answer' }]);
  life.end();
  await run.ended;
});

void t.test('the reason of an end is a text, whatever the error was', async (t) => {
  for (const [error, reason] of [
    [new TypeError('out of luck'), 'out of luck'],
    ['out of words', 'out of words'],
    [undefined, 'undefined'],
  ] as const) {
    const bell = new PaperBell();
    const { run, life } = runOf(bell);
    life.fail(error);
    t.equal(await run.ended, reason);
  }
});

void t.test('a listener that is a port is moved with the orders', async (t) => {
  const { port1, port2 } = new MessageChannel();
  const bell: Bell = { newListener: () => port2, ring: () => undefined, close: () => undefined };
  const { run, life } = runOf(bell);
  t.same(life.move, [life.start.orders, port2]);
  life.end();
  await run.ended;
  port1.close();
});

void t.test('killing raises the signal and nothing else', async (t) => {
  const bell = new PaperBell();
  const { run, life } = runOf(bell);
  run.kill();
  t.ok(life.signal.aborted);
  t.ok(run.isKilled);
  life.fail(new Error('aborted'));
  t.equal(await run.ended, 'aborted');
  run.kill();
});

void t.test('a thread that cannot be started is a life that has ended', async (t) => {
  const run = new EngineRun(
    MEMORY,
    new PaperBell(),
    () => {
      throw new Error('no descriptor is left');
    },
    () => undefined,
  );
  t.equal(await run.ended, 'no descriptor is left');
});
