/**
 * One engine as the HTTP thread sees it: takes orders, knows what is wanted, and watches. An engine that dies, or
 * no longer turns, is started again with everything that is wanted; orders that were on their way are answered
 * when that is done.
 */
import { CONTROL, newEngineMemory, type EngineMemory } from '../../base/memory/engine-memory.js';
import type { Bell } from '../forwarding/transport.js';
import type { Order, OrderAnswer } from '../forwarding/orders.js';
import { FRAMES_LENGTH } from '../forwarding/frame-memory.js';
import { EngineRun, type RunTask } from './engine-run.js';
import { WantedGraph } from './wanted-graph.js';

/** An engine that has not turned for so many checks hangs: 2 s. */
const CHECK_MS = 500;
const MOST_MISSED_CHECKS = 4;
/** The same before its first turn, because a busy host takes its time to start a thread: 10 s. */
const MOST_CHECKS_TO_START = 20;
/** An engine that dies within a second of its start is not started again at once; the next one twice as late, and so on. */
const SHORT_LIFE_MS = 1000;
const REST_MS = 500;
const LONGEST_REST_MS = 8000;
/** A thread that was ended and is still there after so many checks is told of: 5 s. */
const MOST_CHECKS_TO_END = 10;
/** An engine that is told to end has this long to do so, and then its thread has as long to be ended. */
const GRACE_MS = 2000;
const ENDED = 'the engine has ended';

export interface EngineSurroundings {
  /** How much memory there is for captured records. */
  readonly captureOctets: number;
  readonly run: RunTask;
  newBell(): Bell;
  /** The thread has gone; the next one starts after the rest. */
  onDeath(reason: string, restMs: number): void;
  /** The thread does not go although it was ended. No other one is started while it may use the memory. */
  onStuck(): void;
  /** After an engine was started again. */
  onRestart(reason: string): void;
}

interface Pending {
  readonly order: Order;
  readonly resolve: (value: unknown) => void;
  readonly reject: (error: Error) => void;
  /** An engine has died with it already. */
  readonly isRepeated: boolean;
}

export class SupervisedEngine {
  readonly memory: EngineMemory;
  readonly #control: Int32Array;
  readonly #surroundings: EngineSurroundings;
  readonly #graph = new WantedGraph();
  #pending = new Map<number, Pending>();
  #lastNumber = 0;
  readonly #bell: Bell;
  #run: EngineRun;
  #startedAt = 0;
  #beatsAtStart = 0;
  /** In a row. */
  #shortLives = 0;
  #restarts = 0;
  #isClosing = false;
  #rest: NodeJS.Timeout | undefined;
  readonly #watch: NodeJS.Timeout;
  readonly #closed: Promise<void>;
  #noteClosed: () => void = () => undefined;

  constructor(surroundings: EngineSurroundings) {
    this.#surroundings = surroundings;
    this.memory = newEngineMemory(FRAMES_LENGTH, surroundings.captureOctets);
    this.#control = new Int32Array(this.memory.control);
    this.#closed = new Promise((resolve) => (this.#noteClosed = resolve));
    this.#bell = surroundings.newBell();
    this.#run = this.#launch();
    const last = { beats: -1, missed: 0, afterKill: 0 };
    this.#watch = setInterval(() => {
      this.#check(last);
    }, CHECK_MS);
    this.#watch.unref();
  }

  get restarts(): number {
    return this.#restarts;
  }

  /** Resolves when it is carried out. What is wanted changes at once. */
  order(order: Order): Promise<unknown> {
    this.#graph.note(order);
    return this.#send(order);
  }

  /** Tells the thread to end, which it does after its turn; for the last moment of the process, too. */
  tellToEnd(): void {
    this.#isClosing = true;
    Atomics.store(this.#control, CONTROL.stop, 1);
    this.#bell.ring();
  }

  async close(): Promise<void> {
    clearInterval(this.#watch);
    this.tellToEnd();
    if (this.#rest !== undefined) {
      this.#bell.close();
      this.#finish();
    }
    const patience = setTimeout(() => {
      this.kill();
    }, GRACE_MS);
    const despair = setTimeout(() => {
      this.#surroundings.onStuck();
      this.#finish();
    }, 2 * GRACE_MS);
    await this.#closed;
    clearTimeout(patience);
    clearTimeout(despair);
  }

  /** Ends the thread as if it had died. */
  kill(): void {
    this.#run.kill();
  }

  #send(order: Order, isRepeated = false): Promise<unknown> {
    return new Promise((resolve, reject) => {
      if (this.#isClosing) throw new Error(ENDED);
      const number = ++this.#lastNumber;
      this.#pending.set(number, { order, resolve, reject, isRepeated });
      this.#run.send({ number, order });
    });
  }

  #launch(): EngineRun {
    this.#startedAt = performance.now();
    this.#beatsAtStart = Atomics.load(this.#control, CONTROL.heartbeat);
    const run = new EngineRun(this.memory, this.#bell, this.#surroundings.run, (answer) => {
      this.#settle(answer);
    });
    void run.ended.then((reason) => {
      this.#onEnd(reason);
    });
    return run;
  }

  #settle(answer: OrderAnswer): void {
    const pending = this.#pending.get(answer.number);
    if (pending === undefined) return;
    this.#pending.delete(answer.number);
    if ('failure' in answer) pending.reject(new Error(answer.failure));
    else pending.resolve(answer.value);
  }

  #onEnd(reason: string): void {
    if (this.#isClosing) {
      this.#bell.close();
      this.#finish();
      return;
    }
    const isShort = performance.now() - this.#startedAt < SHORT_LIFE_MS;
    const restMs = isShort ? Math.min(LONGEST_REST_MS, REST_MS * 2 ** this.#shortLives) : 0;
    this.#shortLives = isShort ? this.#shortLives + 1 : 0;
    this.#surroundings.onDeath(reason, restMs);
    this.#rest = setTimeout(() => {
      this.#rest = undefined;
      this.#restart(reason);
    }, restMs);
  }

  #finish(): void {
    clearTimeout(this.#rest);
    for (const { reject } of this.#pending.values()) reject(new Error(ENDED));
    this.#pending.clear();
    this.#noteClosed();
  }

  #restart(reason: string): void {
    this.#restarts++;
    const interrupted = this.#pending;
    this.#pending = new Map();
    this.#run = this.#launch();
    const rebuilt = Promise.allSettled(this.#graph.orders().map((order) => this.#send(order)));
    for (const { order, resolve, reject, isRepeated } of interrupted.values()) {
      // What was wanted is wanted already, but a log of an engine that has died is still to be released; a question
      // is asked again, unless it may be what engines die of.
      if (order.do === 'release') this.#send(order).then(resolve, reject);
      else if (order.do !== 'inspect') void rebuilt.then(resolve);
      else if (isRepeated) reject(new Error(reason));
      else this.#send(order, true).then(resolve, reject);
    }
    void rebuilt.then(() => {
      this.#surroundings.onRestart(reason);
    });
  }

  #check(last: { beats: number; missed: number; afterKill: number }): void {
    if (this.#rest === undefined && this.#run.isKilled) {
      if (++last.afterKill === MOST_CHECKS_TO_END) this.#surroundings.onStuck();
      return;
    }
    const beats = Atomics.load(this.#control, CONTROL.heartbeat);
    last.missed = beats === last.beats ? last.missed + 1 : 0;
    last.beats = beats;
    last.afterKill = 0;
    if (last.missed < (beats === this.#beatsAtStart ? MOST_CHECKS_TO_START : MOST_MISSED_CHECKS)) return;
    last.missed = 0;
    this.#run.kill();
  }
}
