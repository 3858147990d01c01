import { MessageChannel, receiveMessageOnPort } from 'node:worker_threads';
import t, { type Test } from 'tap';
import { LOOP_CONTROL, LOOP_CONTROL_WORDS, type LoopMessage } from '../../../src/base/threads/loop-run.js';
import { obeySome, runLoop } from '../../../src/base/threads/loop-task.js';
import type { TaskRequest } from '../../../src/base/threads/task.js';
import { eventually } from '../../support/eventually.js';

/** A loop that runs in this thread until its work stops it. */
class LoopRig {
  readonly control = new SharedArrayBuffer(LOOP_CONTROL_WORDS * Int32Array.BYTES_PER_ELEMENT);
  readonly words = new Int32Array(this.control);
  /** The things that were done, in order. */
  readonly done: unknown[] = [];
  isGone = false;
  readonly #channel = new MessageChannel();

  constructor(t: Test) {
    const { port1 } = this.#channel;
    // A listener for the end alone takes no messages away.
    port1.once('close', () => (this.isGone = true));
    t.teardown(() => {
      port1.close();
    });
  }

  order(number: number, task = 'note'): void {
    this.#channel.port1.postMessage({ number, request: { task, input: number } });
  }

  stop(): void {
    Atomics.store(this.words, LOOP_CONTROL.stop, 1);
  }

  ring(): void {
    Atomics.add(this.words, LOOP_CONTROL.bell, 1);
  }

  /** Each round waits for what `round` returns. */
  run(round: (count: number) => number, finish = (): void => undefined): void {
    let rounds = 0;
    const start = { control: this.control, orders: this.#channel.port2 };
    runLoop(start, {
      tasks: {
        note: (number: number) => {
          this.done.push(number);
          return number * 2;
        },
        fail: () => {
          throw new TypeError('out of luck');
        },
      },
      round: () => {
        rounds++;
        this.done.push(`round ${rounds}`);
        return round(rounds);
      },
      finish: () => {
        this.done.push('finish');
        finish();
      },
    });
  }

  get answers(): LoopMessage<never>[] {
    const found: LoopMessage<never>[] = [];
    for (;;) {
      const received: { message: LoopMessage<never> } | undefined = receiveMessageOnPort(this.#channel.port1);
      if (received === undefined) return found;
      found.push(received.message);
    }
  }

  get beats(): number {
    return Atomics.load(this.words, LOOP_CONTROL.heartbeat);
  }
}

const numbers = (from: number, to: number): number[] => {
  return Array.from({ length: to - from }, (_, index) => from + index);
};

/** Stops the rig in its round of that number; others begin at once. */
const stopIn =
  (rig: LoopRig, last: number, waitMs = 0) =>
  (count: number): number => {
    if (count === last) rig.stop();
    return waitMs;
  };

void t.test('orders are carried out and answered in order, sixteen before each round', (t) => {
  const rig = new LoopRig(t);
  for (const number of numbers(0, 40)) rig.order(number);
  rig.run(stopIn(rig, 3));
  t.same(rig.done, [
    ...numbers(0, 16),
    'round 1',
    ...numbers(16, 32),
    'round 2',
    ...numbers(32, 40),
    'round 3',
    'finish',
  ]);
  t.same(
    rig.answers,
    numbers(0, 40).map((number) => ({ kind: 'answer', number, outcome: { value: number * 2 } })),
  );
  t.equal(rig.beats, 3);
  t.end();
});

void t.test('an order that fails is answered, and the next is carried out', (t) => {
  const rig = new LoopRig(t);
  rig.order(1, 'fail');
  rig.order(2, 'toString');
  rig.order(3);
  rig.run(stopIn(rig, 1));
  t.match(rig.answers, [
    { number: 1, outcome: { failure: { message: 'out of luck' } } },
    { number: 2, outcome: { failure: { message: 'Unknown task toString' } } },
    { number: 3, outcome: { value: 6 } },
  ]);
  t.end();
});

void t.test('a loop that is told to stop before it begins only finishes', (t) => {
  const rig = new LoopRig(t);
  rig.order(1);
  rig.stop();
  rig.run(() => 0);
  t.same(rig.done, ['finish']);
  t.equal(rig.beats, 0);
  t.end();
});

void t.test('a bell that rings during a round is not slept through', (t) => {
  const rig = new LoopRig(t);
  rig.run((count) => {
    // Otherwise the wait would never end.
    if (count === 5) rig.stop();
    rig.ring();
    return Infinity;
  });
  t.equal(rig.beats, 5);
  t.end();
});

void t.test('no loop waits while it has orders', (t) => {
  const rig = new LoopRig(t);
  for (const number of numbers(0, 64)) rig.order(number);
  rig.run((count) => {
    if (count < 5) return Infinity;
    // Nothing is left, so that this one would wait.
    rig.stop();
    return 0;
  });
  t.equal(rig.done.filter((entry) => typeof entry === 'number').length, 64);
  t.end();
});

void t.test('the next round comes without a bell when its time has come', (t) => {
  const rig = new LoopRig(t);
  rig.run(stopIn(rig, 3, 1));
  t.equal(rig.beats, 3);
  t.end();
});

void t.test('a loop whose round fails finishes, and its other end learns that it has gone', async (t) => {
  const rig = new LoopRig(t);
  const failing = (what: string) => (): never => {
    throw new Error(what);
  };
  t.throws(
    () => {
      rig.run(failing('the round'));
    },
    { message: 'the round' },
  );
  t.same(rig.done, ['round 1', 'finish']);
  await eventually('it is told of', () => (rig.isGone ? true : undefined));

  const worse = new LoopRig(t);
  t.throws(
    () => {
      worse.run(stopIn(worse, 1), failing('the finish'));
    },
    { message: 'the finish' },
  );
  await eventually('it is told of', () => (worse.isGone ? true : undefined));
});

void t.test('an order that takes longer is answered later, and does not hold up the next', async (t) => {
  const { port1, port2 } = new MessageChannel();
  const answers: unknown[] = [];
  port1.on('message', (answer) => answers.push(answer));
  t.teardown(() => {
    port1.close();
  });
  const ends: { resolve: (value: unknown) => void; reject: (error: Error) => void }[] = [];
  for (const number of numbers(1, 20))
    port1.postMessage({ number, request: { task: 'wait', input: number } });
  const perform = ({ input }: TaskRequest): unknown =>
    input === 3 ? 'three' : new Promise((resolve, reject) => ends.push({ resolve, reject }));
  t.notOk(obeySome(port2, perform), 'some are left');
  t.equal(ends.length, 15);
  t.ok(obeySome(port2, perform), 'none is left');
  t.equal(ends.length, 18);
  ends[1]?.resolve('two');
  ends[0]?.reject(new TypeError('out of luck'));
  await eventually('three answers', () => answers[2]);
  t.match(answers, [
    { kind: 'answer', number: 3, outcome: { value: 'three' } },
    { kind: 'answer', number: 2, outcome: { value: 'two' } },
    { kind: 'answer', number: 1, outcome: { failure: { message: 'out of luck' } } },
  ]);
});
