/** Loops for tests: one in a thread that can be killed and broken, and one whose lives are what the test makes of them. */
import type { MessagePort } from 'node:worker_threads';
import {
  LOOP_CONTROL,
  type LoopMessage,
  type LoopOrder,
  type RunLoop,
} from '../../src/base/threads/loop-run.js';
import { loopThread } from '../../src/base/threads/loop-thread.js';
import { WorkerLoop, type WorkerLoopOptions } from '../../src/base/threads/worker-loop.js';
import type { TaskRequest } from '../../src/base/threads/task.js';
import { ownThread } from '../../src/base/threads/thread-work.js';
import { eventually } from './eventually.js';
import type { TestParts, TestReport } from './loop-worker.js';
import { PaperLog } from './paper-log.js';
import type { Teardown } from './scratch.js';

const WORKER = new URL('./loop-worker.js', import.meta.url);

type Own = Partial<
  Pick<WorkerLoopOptions<TestParts, TestReport>, 'fate' | 'isBusy' | 'mostMissedChecks' | 'onCheck' | 'ring'>
>;

abstract class TestLoop {
  /** The messages of the loop, in order. */
  readonly told: unknown[] = [];
  readonly log = new PaperLog();
  readonly loop: WorkerLoop<TestParts, TestReport>;

  constructor(run: WorkerLoopOptions<TestParts, TestReport>['run'], own: Own) {
    this.loop = new WorkerLoop<TestParts, TestReport>({
      name: 'loop of a test',
      log: this.log.log,
      run,
      newSetup: () => ({ greeting: 'good morning' }),
      onReport: (report) => this.told.push(report),
      isBusy: () => false,
      onDeath: (reason) => {
        this.told.push({ death: reason });
        return { deaths: 1 };
      },
      restore: () => this.restore(),
      onRestart: (reason) => this.told.push({ restart: reason }),
      ...own,
    });
  }

  /** For orders to the next life before others. */
  restore = (): readonly Promise<unknown>[] => [];

  async restarts(times: number): Promise<void> {
    await eventually(`it is started again ${times} times`, () =>
      this.loop.restarts >= times ? true : undefined,
    );
  }
}

export class LiveLoop extends TestLoop {
  constructor(t: Teardown, own: Own = {}) {
    super(loopThread(WORKER), own);
    t.teardown(() => this.loop.close());
  }
}

export class PaperLife {
  readonly received: TaskRequest[] = [];
  readonly #orders: MessagePort;
  readonly #numbers: number[] = [];
  readonly #words: Int32Array;
  readonly #end: (error: Error | undefined) => void;
  isKilled = false;
  /** It is in a system call that does not come back when it is killed. */
  isStuck = false;

  constructor(control: SharedArrayBuffer, orders: MessagePort, end: (error: Error | undefined) => void) {
    this.#words = new Int32Array(control);
    this.#orders = orders;
    this.#end = end;
    orders.on('message', ({ number, request }: LoopOrder) => {
      this.received.push(request);
      this.#numbers.push(number);
    });
  }

  /** Its thread is the one that runs the test, which computes next to nothing. */
  waitsForDisk(): void {
    Atomics.store(this.#words, LOOP_CONTROL.thread, ownThread());
  }

  beat(): void {
    Atomics.add(this.#words, LOOP_CONTROL.heartbeat, 1);
  }

  get isToldToStop(): boolean {
    return Atomics.load(this.#words, LOOP_CONTROL.stop) !== 0;
  }

  /** Answers the oldest order that has no answer yet. */
  answer(value: unknown): void {
    this.answerTo(this.#numbers.shift() ?? 0, value);
  }

  answerTo(number: number, value: unknown): void {
    const message: LoopMessage<TestReport> = { kind: 'answer', number, outcome: { value } };
    this.#orders.postMessage(message);
  }

  end(error?: Error): void {
    this.#orders.close();
    this.#end(error);
  }
}

/** Threads for a loop that are none. */
export class PaperLives {
  /** They do not come to their first round. */
  isSlow = false;
  readonly #lives: PaperLife[] = [];

  constructor(t: Teardown) {
    // Loops keep no process alive.
    const awake = setInterval(() => undefined, 2 ** 30);
    t.teardown(() => {
      clearInterval(awake);
    });
  }

  readonly run: RunLoop<unknown> = ({ control, orders }, _, signal) =>
    new Promise((resolve, reject) => {
      const life = new PaperLife(control, orders, (error) => {
        if (error === undefined) resolve();
        else reject(error);
      });
      if (!this.isSlow) life.beat();
      this.#lives.push(life);
      signal.addEventListener('abort', () => {
        life.isKilled = true;
        if (!life.isStuck) life.end(new Error('killed'));
      });
    });

  get count(): number {
    return this.#lives.length;
  }

  /** The life of that number, when it has come and has been given so many orders. */
  take(number: number, orders = 0): Promise<PaperLife> {
    return eventually(`life ${number} with ${orders} orders`, () => {
      const life = this.#lives[number - 1];
      return life !== undefined && life.received.length >= orders ? life : undefined;
    });
  }

  end(): void {
    for (const life of this.#lives) life.end();
  }
}

export class PaperLoop extends TestLoop {
  readonly lives: PaperLives;

  constructor(t: Teardown, own: Own = {}) {
    const lives = new PaperLives(t);
    super(lives.run, own);
    this.lives = lives;
    t.teardown(() => {
      const closed = this.loop.close();
      lives.end();
      return closed;
    });
  }

  life(number: number, orders?: number): Promise<PaperLife> {
    return this.lives.take(number, orders);
  }
}
