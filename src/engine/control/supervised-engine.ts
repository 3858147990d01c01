/**
 * One engine as the HTTP thread sees it. It sends orders, keeps what they add up to, and watches the thread: an engine
 * that dies, or stops turning, is started again with everything that is wanted; orders under way are answered then.
 */
import { MessageChannel, type MessagePort } from 'node:worker_threads';
import { CONTROL, newEngineMemory, type EngineMemory } from '../../base/memory/engine-memory.js';
import { FRAMES_LENGTH } from '../forwarding/frame-memory.js';
import type { NumberedOrder, Order, OrderAnswer } from '../forwarding/orders.js';
import type { Bell, BellListener } from '../forwarding/transport.js';
import { WantedGraph } from './wanted-graph.js';

/** An engine that has not turned for this many checks hangs: 2 s. */
const CHECK_MS = 500;
const MOST_MISSED_CHECKS = 4;
/** The same before its first turn, because a busy host may be slow to start a thread: 10 s. */
const MOST_CHECKS_TO_START = 20;
/** An engine that dies within a second of its start is restarted after a rest, which doubles with each short life. */
const SHORT_LIFE_MS = 1000;
const REST_MS = 500;
const LONGEST_REST_MS = 8000;
/** A thread that was ended but still runs after this many checks is reported as stuck: 5 s. */
const MOST_CHECKS_TO_END = 10;
/** `close` gives the engine this long to end by itself, and then its thread as long to be ended. */
const GRACE_MS = 2000;
const ENDED = 'the engine has ended';

/** Handed to an engine's thread when it starts. */
export interface EngineStart {
  readonly memory: EngineMemory;
  /** Receives orders, and sends answers. */
  readonly orders: MessagePort;
  readonly listener: BellListener;
}

/**
 * Runs an engine's task in a thread; the signal ends the thread, whatever it does. Settles only when the thread has
 * gone: until then it may still receive into the engine's memory.
 */
export type RunTask = (
  start: EngineStart,
  move: readonly MessagePort[],
  signal: AbortSignal,
) => Promise<void>;

/** One life of an engine: its thread, the way to it, and its end. */
export class EngineRun {
  readonly #bell: Bell;
  readonly #orders: MessagePort;
  readonly #abort = new AbortController();
  /** Resolves with the reason when the thread has gone, and no longer uses the memory or the bell; never rejects. */
  readonly ended: Promise<string>;

  constructor(memory: EngineMemory, bell: Bell, run: RunTask, onAnswer: (answer: OrderAnswer) => void) {
    this.#bell = bell;
    const { port1, port2 } = new MessageChannel();
    this.#orders = port1;
    port1.on('message', onAnswer);
    port1.unref();
    const listener = bell.newListener();
    const move = 'epoll' in listener ? [port2] : [port2, listener];
    this.ended = this.#live({ memory, orders: port2, listener }, move, run).finally(() => {
      port1.close();
    });
  }

  get isKilled(): boolean {
    return this.#abort.signal.aborted;
  }

  send(order: NumberedOrder): void {
    this.#orders.postMessage(order);
    this.#bell.ring();
  }

  /** Ends the thread without its consent. */
  kill(): void {
    this.#abort.abort();
  }

  /** A thread that cannot be started counts as a life that ended at once. */
  async #live(start: EngineStart, move: readonly MessagePort[], run: RunTask): Promise<string> {
    try {
      await run(start, move, this.#abort.signal);
      return 'it came to its end';
    } catch (error) {
      return error instanceof Error ? error.message : String(error);
    }
  }
}

export interface EngineContext {
  /** The size of the memory for captured records. */
  readonly captureBytes: number;
  readonly run: RunTask;
  newBell(): Bell;
  /** Called when the thread has gone; the next one starts after the rest. */
  onDeath(reason: string, restMs: number): void;
  /** Called when a thread that was ended does not go. No other is started while it may use the memory. */
  onStuck(): void;
  /** Called after the engine was started again and rebuilt. */
  onRestart(reason: string): void;
}

interface Pending {
  readonly order: Order;
  readonly resolve: (value: unknown) => void;
  readonly reject: (error: Error) => void;
  /** An engine has died while this order was pending. */
  readonly isRepeated: boolean;
}

export class SupervisedEngine {
  readonly memory: EngineMemory;
  readonly #control: Int32Array;
  readonly #context: EngineContext;
  readonly #graph = new WantedGraph();
  #pending = new Map<number, Pending>();
  #lastNumber = 0;
  readonly #bell: Bell;
  #run: EngineRun;
  #startedAt = 0;
  #beatsAtStart = 0;
  /** The number of short lives in a row. */
  #shortLives = 0;
  #restarts = 0;
  #isClosing = false;
  #rest: NodeJS.Timeout | undefined;
  readonly #watch: NodeJS.Timeout;
  readonly #closed: Promise<void>;
  #noteClosed: () => void = () => undefined;

  constructor(context: EngineContext) {
    this.#context = context;
    this.memory = newEngineMemory(FRAMES_LENGTH, context.captureBytes);
    this.#control = new Int32Array(this.memory.control);
    this.#closed = new Promise((resolve) => (this.#noteClosed = resolve));
    this.#bell = context.newBell();
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

  /** Resolves when the order is carried out. The wanted graph changes at once. */
  order(order: Order): Promise<unknown> {
    this.#graph.note(order);
    return this.#send(order);
  }

  /** Makes the thread end after its turn. Works while the process exits, too. */
  stop(): void {
    this.#isClosing = true;
    Atomics.store(this.#control, CONTROL.stop, 1);
    this.#bell.ring();
  }

  async close(): Promise<void> {
    clearInterval(this.#watch);
    this.stop();
    if (this.#rest !== undefined) {
      this.#bell.close();
      this.#finish();
    }
    const patience = setTimeout(() => {
      this.kill();
    }, GRACE_MS);
    const despair = setTimeout(() => {
      this.#context.onStuck();
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
    const run = new EngineRun(this.memory, this.#bell, this.#context.run, (answer) => {
      this.#takeAnswer(answer);
    });
    void run.ended.then((reason) => {
      this.#onEnd(reason);
    });
    return run;
  }

  #takeAnswer(answer: OrderAnswer): void {
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
    this.#context.onDeath(reason, restMs);
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
      // The wanted graph has these orders already, except: a release has still to be carried out, and an inspection is
      // repeated, unless it was pending at a death before, so that it may be the cause.
      if (order.do === 'release') this.#send(order).then(resolve, reject);
      else if (order.do !== 'inspect') void rebuilt.then(resolve);
      else if (isRepeated) reject(new Error(reason));
      else this.#send(order, true).then(resolve, reject);
    }
    void rebuilt.then(() => {
      this.#context.onRestart(reason);
    });
  }

  #check(last: { beats: number; missed: number; afterKill: number }): void {
    if (this.#rest === undefined && this.#run.isKilled) {
      if (++last.afterKill === MOST_CHECKS_TO_END) this.#context.onStuck();
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
