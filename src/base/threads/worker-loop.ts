/**
 * An endless task in a worker thread, as the HTTP thread sees and supervises it. The first order starts the thread. A
 * loop that dies, or hangs, is started again, and gets the orders that it had not answered once more.
 */
import { once } from 'node:events';
import { MessageChannel, type MessagePort } from 'node:worker_threads';
import { refusals } from '../errors/errors.js';
import { valueOf, type TaskOutcome, type TaskRequest } from './task.js';
import { computedMs } from './thread-work.js';

/** The Int32 words that the HTTP thread and the loop share. */
export const LOOP_CONTROL = {
  /** Incremented when there is something new; the loop waits on it. */
  bell: 0,
  /** Incremented with every round. */
  heartbeat: 1,
  /** Not 0 when the loop should end. */
  stop: 2,
  /** The system's number of the thread; 0 before it has begun, and where the system does not tell. */
  thread: 3,
} as const;
export const LOOP_CONTROL_WORDS = 4;

export interface LoopStart {
  readonly control: SharedArrayBuffer;
  /** Brings orders, and takes answers and reports. Everything survives a structured clone. */
  readonly orders: MessagePort;
}

export interface LoopOrder {
  readonly number: number;
  readonly request: TaskRequest;
}

export type LoopMessage<Report> =
  | { readonly kind: 'answer'; readonly number: number; readonly outcome: TaskOutcome }
  | { readonly kind: 'report'; readonly report: Report };

/** Runs the loop in a thread; the signal ends the thread, whatever it is doing. */
export type RunLoop<Setup> = (
  start: Setup & LoopStart,
  move: readonly MessagePort[],
  signal: AbortSignal,
) => Promise<void>;

/** One life of a loop: its thread, the port to it, and its end. */
export class LoopRun<Setup, Report> {
  readonly #orders: MessagePort;
  readonly #abort = new AbortController();
  /** Resolves with the reason when the thread does nothing any more; never rejects. */
  readonly ended: Promise<string>;

  constructor(
    control: SharedArrayBuffer,
    setup: Setup,
    run: RunLoop<Setup>,
    onMessage: (message: LoopMessage<Report>) => void,
  ) {
    const words = new Int32Array(control);
    const beatsAtStart = Atomics.load(words, LOOP_CONTROL.heartbeat);
    const { port1, port2 } = new MessageChannel();
    this.#orders = port1;
    port1.on('message', onMessage);
    port1.unref();
    // The port closes when the thread has ended. A thread that is killed in a system call first comes back from it.
    const isGone = once(port1, 'close');
    this.ended = run({ ...setup, control, orders: port2 }, [port2], this.#abort.signal)
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

/** A loop that has made no round for so many checks, 10 s, may hang. */
const CHECK_MS = 500;
const MOST_MISSED_CHECKS = 20;
/** It hangs if it has computed for so long meanwhile. Otherwise it waits for the disk, where another thread would wait, too. */
const SPINNING_MS = 1000;
/** A loop that waits for the disk is ended after so many checks, 5 min. */
const MOST_CHECKS_FOR_DISK = 600;
/** A loop that dies this soon after its start is started again only after a rest. */
const SHORT_LIFE_MS = 1000;
const REST_MS = 500;
/** How long a loop may take to end by itself. */
const GRACE_MS = 2000;

export interface WorkerLoopOptions<Setup, Report> {
  /** Names the loop in the error of a lost order. */
  readonly name?: string;
  /** Passed to every life of the loop. */
  readonly setup: Setup;
  readonly run: RunLoop<Setup>;
  readonly onReport: (report: Report) => void;
  /** Whether it has work besides its orders. A loop without work may be silent. */
  readonly isBusy: () => boolean;
  /** Called with every check. */
  readonly onCheck?: () => void;
  /** Called once when it has been waiting for the disk for 10 s. */
  readonly onStall?: (() => void) | undefined;
  /** Orders of these tasks are not repeated after a death: they fail with a `LoopDeath`. */
  readonly onceOnly: readonly string[];
  /** Called when the thread has gone, before the next life begins. */
  readonly onDeath?: (reason: string) => void;
  /** Called when the next life has begun. It gets the orders given in this call before those that wait. */
  readonly onRestart: (reason: string) => void;
}

interface Pending {
  readonly request: TaskRequest;
  readonly resolve: (value: unknown) => void;
  readonly reject: (error: unknown) => void;
  /** How many lives have ended without an answer to it. */
  readonly deaths: number;
}

/** The loop died before it answered, so it is unknown how much of the order was carried out. */
export class LoopDeath extends Error {
  override readonly name = 'LoopDeath';
}

export class WorkerLoop<Setup, Report> {
  readonly #options: WorkerLoopOptions<Setup, Report>;
  readonly #control = new SharedArrayBuffer(LOOP_CONTROL_WORDS * Int32Array.BYTES_PER_ELEMENT);
  readonly #words = new Int32Array(this.#control);
  #pending = new Map<number, Pending>();
  #lastNumber = 0;
  #restarts = 0;
  #run: LoopRun<Setup, Report> | undefined;
  #startedAt = 0;
  #rest: NodeJS.Timeout | undefined;
  #isClosing = false;
  #watch: NodeJS.Timeout | undefined;
  readonly #closed: Promise<void>;
  #noteClosed: () => void = () => undefined;

  constructor(options: WorkerLoopOptions<Setup, Report>) {
    this.#options = options;
    this.#closed = new Promise((resolve) => (this.#noteClosed = resolve));
  }

  get restarts(): number {
    return this.#restarts;
  }

  /** Resolves with the answer. Orders are carried out one after the other. */
  ask(request: TaskRequest): Promise<unknown> {
    return this.#send(request, 0);
  }

  /** Wakes the loop for work that is no order. */
  ring(): void {
    // Incremented before the wake-up, so that a loop that is about to wait sees the change.
    Atomics.add(this.#words, LOOP_CONTROL.bell, 1);
    Atomics.notify(this.#words, LOOP_CONTROL.bell);
  }

  /** Lets the thread end after its round. It takes no more orders, and is not started again. */
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
      // `#restart` sends it after the rest.
      if (this.#rest !== undefined) return;
      this.#run ??= this.#launch();
      this.#run.send({ number, request });
      this.ring();
    });
  }

  #launch(): LoopRun<Setup, Report> {
    this.#startedAt = performance.now();
    const last = { beats: -1, missed: 0, computed: undefined };
    Atomics.store(this.#words, LOOP_CONTROL.thread, 0);
    clearInterval(this.#watch);
    this.#watch = setInterval(() => {
      this.#check(last);
    }, CHECK_MS).unref();
    const { setup, run } = this.#options;
    const started = new LoopRun<Setup, Report>(this.#control, setup, run, (message) => {
      this.#hear(message);
    });
    void started.ended.then((reason) => {
      this.#onEnd(reason);
    });
    return started;
  }

  #hear(message: LoopMessage<Report>): void {
    if (message.kind === 'report') {
      this.#options.onReport(message.report);
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
      const { name = 'an endless task', onceOnly } = this.#options;
      const times = deaths > 0 ? 'twice ' : '';
      // An order with which the loop died twice may be the cause.
      if (deaths > 0 || onceOnly.includes(request.task)) {
        reject(new LoopDeath(`${name} ended ${times}with the order ${request.task}: ${reason}`));
      } else this.#pending.set(number, { ...pending, deaths: deaths + 1 });
    }
    this.#options.onDeath?.(reason);
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
    this.#options.onRestart(reason);
    for (const { request, resolve, reject, deaths } of waiting.values()) {
      this.#send(request, deaths).then(resolve, reject);
    }
  }

  #check(last: { beats: number; missed: number; computed: number | undefined }): void {
    this.#options.onCheck?.();
    const beats = Atomics.load(this.#words, LOOP_CONTROL.heartbeat);
    const hasNothingToDo = !this.#options.isBusy() && this.#pending.size === 0;
    last.missed = beats === last.beats && !hasNothingToDo ? last.missed + 1 : 0;
    last.beats = beats;
    if (last.missed === 1) last.computed = this.#computed();
    if (last.missed < MOST_MISSED_CHECKS) return;
    if (this.#isWaiting(last.computed) && last.missed < MOST_CHECKS_FOR_DISK) {
      if (last.missed === MOST_MISSED_CHECKS) this.#options.onStall?.();
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
