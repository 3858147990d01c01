/**
 * An endless task as the HTTP thread sees it. Its thread is started by the first order. A loop that dies, or does
 * not come round any more, is started again; orders that were on their way are given again, once.
 */
import { refusals } from '../errors/errors.js';
import { valueOf, type TaskRequest, type TaskOutcome } from './task.js';
import { computedMs } from './thread-work.js';
import { once } from 'node:events';
import { MessageChannel, type MessagePort } from 'node:worker_threads';

/** A loop that has not come round for so many checks, 10 s, is looked at. */
const CHECK_MS = 500;
const MOST_MISSED_CHECKS = 20;
/** It spins when it has computed for so long meanwhile. Otherwise it waits for the disk, which nobody else could write to. */
const SPINNING_MS = 1000;
/** So long is a disk waited for: 5 min. */
const MOST_CHECKS_FOR_DISK = 600;
/** A loop that dies within a second of its start is not started again at once. */
const SHORT_LIFE_MS = 1000;
const REST_MS = 500;
/** A loop that is told to end has this long to do so. */
const GRACE_MS = 2000;

export interface WorkerLoopOptions<Parts, Report> {
  /** What it is called when an order is lost with it. */
  readonly name?: string;
  /** What every life is given. */
  readonly parts: Parts;
  readonly run: RunLoop<Parts>;
  readonly onReport: (report: Report) => void;
  /** Whether it has something to do besides its orders: otherwise its silence is no fault. */
  readonly isBusy: () => boolean;
  /** Comes with every check. */
  readonly onCheck?: () => void;
  /** It waits for the disk, longer than disks should take: told once. */
  readonly onStall?: (() => void) | undefined;
  /** Orders of these tasks are not given again to the next life: they fail with a `LoopDeath`. */
  readonly onceOnly: readonly string[];
  /** The thread is gone; comes before the next life begins. */
  readonly onDeath?: (reason: string) => void;
  /** The next life has begun, and gets what is asked now before what was asked while there was none. */
  readonly onRestart: (reason: string) => void;
}

interface Pending {
  readonly request: TaskRequest;
  readonly resolve: (value: unknown) => void;
  readonly reject: (error: unknown) => void;
  /** How many loops have died with it. */
  readonly deaths: number;
}

/** The loop ended before it had answered: nobody knows how much of the order was carried out. */
export class LoopDeath extends Error {
  override readonly name = 'LoopDeath';
}

export class WorkerLoop<Parts, Report> {
  readonly #surroundings: WorkerLoopOptions<Parts, Report>;
  readonly #control = new SharedArrayBuffer(LOOP_CONTROL_WORDS * Int32Array.BYTES_PER_ELEMENT);
  readonly #words = new Int32Array(this.#control);
  #pending = new Map<number, Pending>();
  #lastNumber = 0;
  #restarts = 0;
  #run: LoopRun<Parts, Report> | undefined;
  #startedAt = 0;
  #rest: NodeJS.Timeout | undefined;
  #isClosing = false;
  #watch: NodeJS.Timeout | undefined;
  readonly #closed: Promise<void>;
  #noteClosed: () => void = () => undefined;

  constructor(surroundings: WorkerLoopOptions<Parts, Report>) {
    this.#surroundings = surroundings;
    this.#closed = new Promise((resolve) => (this.#noteClosed = resolve));
  }

  get restarts(): number {
    return this.#restarts;
  }

  /** Carried out in the order they are given. */
  ask(request: TaskRequest): Promise<unknown> {
    return this.#send(request, 0);
  }

  /** There is something to do that no order tells of. */
  ring(): void {
    // Raised first: a loop that is about to wait sees that it changed.
    Atomics.add(this.#words, LOOP_CONTROL.bell, 1);
    Atomics.notify(this.#words, LOOP_CONTROL.bell);
  }

  /** Tells the thread to end, which it does after its round. Nothing is asked of it, and it is not started again. */
  tellToEnd(): void {
    this.#isClosing = true;
    Atomics.store(this.#words, LOOP_CONTROL.stop, 1);
    this.ring();
    if (this.#run === undefined || this.#rest !== undefined) this.#finish();
  }

  async close(): Promise<void> {
    clearInterval(this.#watch);
    this.tellToEnd();
    const patience = setTimeout(() => {
      this.#finish();
      this.kill();
    }, GRACE_MS);
    await this.#closed;
    clearTimeout(patience);
  }

  /** Ends the thread as if it had died. */
  kill(): void {
    this.#run?.kill();
  }

  #send(request: TaskRequest, deaths: number): Promise<unknown> {
    return new Promise((resolve, reject) => {
      if (this.#isClosing) throw refusals.stopping();
      const number = ++this.#lastNumber;
      this.#pending.set(number, { request, resolve, reject, deaths });
      // A loop that rests is given it when it starts again.
      if (this.#rest !== undefined) return;
      this.#run ??= this.#launch();
      this.#run.send({ number, request });
      this.ring();
    });
  }

  #launch(): LoopRun<Parts, Report> {
    this.#startedAt = performance.now();
    const last = { beats: -1, missed: 0, computed: undefined };
    Atomics.store(this.#words, LOOP_CONTROL.thread, 0);
    clearInterval(this.#watch);
    this.#watch = setInterval(() => {
      this.#check(last);
    }, CHECK_MS).unref();
    const { parts, run } = this.#surroundings;
    const started = new LoopRun<Parts, Report>(this.#control, parts, run, (message) => {
      this.#hear(message);
    });
    void started.ended.then((reason) => {
      this.#onEnd(reason);
    });
    return started;
  }

  #hear(message: LoopMessage<Report>): void {
    if (message.kind === 'report') {
      this.#surroundings.onReport(message.report);
      return;
    }
    const pending = this.#pending.get(message.number);
    if (pending === undefined) return;
    this.#pending.delete(message.number);
    try {
      pending.resolve(valueOf(message.outcome));
    } catch (error) {
      pending.reject(error);
    }
  }

  #onEnd(reason: string): void {
    if (this.#isClosing) {
      this.#finish();
      return;
    }
    const interrupted = this.#pending;
    this.#pending = new Map();
    for (const [number, pending] of interrupted) {
      const { request, reject, deaths } = pending;
      const { name = 'an endless task', onceOnly } = this.#surroundings;
      const times = deaths > 0 ? 'twice ' : '';
      // It may be what loops die of.
      if (deaths > 0 || onceOnly.includes(request.task)) {
        reject(new LoopDeath(`${name} ended ${times}with the order ${request.task}: ${reason}`));
      } else this.#pending.set(number, { ...pending, deaths: deaths + 1 });
    }
    this.#surroundings.onDeath?.(reason);
    const age = performance.now() - this.#startedAt;
    const restMs = age < SHORT_LIFE_MS ? REST_MS : 0;
    this.#rest = setTimeout(() => {
      this.#restart(reason);
    }, restMs);
  }

  #finish(): void {
    clearTimeout(this.#rest);
    for (const { reject } of this.#pending.values()) reject(refusals.stopping());
    this.#pending.clear();
    this.#noteClosed();
  }

  #restart(reason: string): void {
    this.#rest = undefined;
    this.#restarts++;
    const waiting = this.#pending;
    this.#pending = new Map();
    this.#run = this.#launch();
    this.#surroundings.onRestart(reason);
    for (const { request, resolve, reject, deaths } of waiting.values()) {
      this.#send(request, deaths).then(resolve, reject);
    }
  }

  #check(last: { beats: number; missed: number; computed: number | undefined }): void {
    this.#surroundings.onCheck?.();
    const beats = Atomics.load(this.#words, LOOP_CONTROL.heartbeat);
    const hasNothingToDo = !this.#surroundings.isBusy() && this.#pending.size === 0;
    last.missed = beats === last.beats && !hasNothingToDo ? last.missed + 1 : 0;
    last.beats = beats;
    if (last.missed === 1) last.computed = this.#computed();
    if (last.missed < MOST_MISSED_CHECKS) return;
    if (this.#isWaiting(last.computed) && last.missed < MOST_CHECKS_FOR_DISK) {
      if (last.missed === MOST_MISSED_CHECKS) this.#surroundings.onStall?.();
      return;
    }
    last.missed = 0;
    this.#run?.kill();
  }

  #computed(): number | undefined {
    return computedMs(Atomics.load(this.#words, LOOP_CONTROL.thread));
  }

  #isWaiting(computedBefore: number | undefined): boolean {
    const computed = this.#computed();
    if (computed === undefined || computedBefore === undefined) return false;
    return computed - computedBefore < SPINNING_MS;
  }
}

/** One life of an endless task: its thread, the way to it, and its end. */

/** Runs a loop's task in a thread; the signal ends the thread, whatever it does. */
export type RunLoop<Parts> = (
  start: Parts & LoopStart,
  move: readonly MessagePort[],
  signal: AbortSignal,
) => Promise<void>;

export class LoopRun<Parts, Report> {
  readonly #orders: MessagePort;
  readonly #abort = new AbortController();
  /** Why it ended; never rejects. Its thread does nothing any more then. */
  readonly ended: Promise<string>;

  constructor(
    control: SharedArrayBuffer,
    parts: Parts,
    run: RunLoop<Parts>,
    onMessage: (message: LoopMessage<Report>) => void,
  ) {
    const words = new Int32Array(control);
    const beatsAtStart = Atomics.load(words, LOOP_CONTROL.heartbeat);
    const { port1, port2 } = new MessageChannel();
    this.#orders = port1;
    port1.on('message', onMessage);
    port1.unref();
    // Goes with the thread that has the other end: one that is killed in a system call first comes back from it.
    const isGone = once(port1, 'close');
    this.ended = run({ ...parts, control, orders: port2 }, [port2], this.#abort.signal)
      .then(
        () => 'it came to its end',
        (error: unknown) => (error instanceof Error ? error.message : String(error)),
      )
      .then(async (reason) => {
        if (Atomics.load(words, LOOP_CONTROL.heartbeat) !== beatsAtStart) await isGone;
        port1.close();
        return reason;
      });
  }

  send(order: LoopOrder): void {
    this.#orders.postMessage(order);
  }

  /** Ends the thread without asking it. */
  kill(): void {
    this.#abort.abort();
  }
}

/** What is said between the HTTP thread and an endless task. Everything survives a structured clone. */

/** Int32 words that both have. */
export const LOOP_CONTROL = {
  /** Goes up when there is something new; the loop waits on it. */
  bell: 0,
  /** Goes up with every round. */
  heartbeat: 1,
  /** Not 0: the loop is to end. */
  stop: 2,
  /** The number of its thread, 0 before it has begun or where the host does not tell. */
  thread: 3,
} as const;
export const LOOP_CONTROL_WORDS = 4;

export interface LoopStart {
  readonly control: SharedArrayBuffer;
  /** Orders come in here, answers and reports leave. */
  readonly orders: MessagePort;
}

export interface LoopOrder {
  readonly number: number;
  readonly request: TaskRequest;
}

export type LoopMessage<Report> =
  | { readonly kind: 'answer'; readonly number: number; readonly outcome: TaskOutcome }
  | { readonly kind: 'report'; readonly report: Report };
