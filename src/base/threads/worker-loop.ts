/**
 * An endless task in a worker thread, as the HTTP thread sees and supervises it: a packet engine, or a writer. The first
 * order starts the thread. A loop that dies, or hangs, is started again, and gets the orders that it had not answered
 * once more.
 */
import type { Logger } from 'pino';
import { refusals } from '../errors/errors.js';
import { LOOP_CONTROL, LOOP_CONTROL_WORDS, LoopRun, type LoopMessage, type RunLoop } from './loop-run.js';
import { valueOf, type TaskRequest } from './task.js';
import { computedMs } from './thread-work.js';

/** How often a loop is looked at. Times below are multiples of it. */
const CHECK_MS = 500;
/** A loop with something to do that has made no round for so many checks, 10 s, may hang. */
const MOST_MISSED_CHECKS = 20;
/** The same before its first round, because a busy host may be slow to start a thread. */
const MOST_CHECKS_TO_START = 20;
/** It hangs if it has computed for so long meanwhile. Otherwise it waits for the disk, where another thread would wait, too. */
const SPINNING_MS = 1000;
/** A loop that waits for the disk is ended after so many checks, 5 min. */
const MOST_CHECKS_FOR_DISK = 600;
/** A thread that was ended but still runs after this many checks, 5 s, is logged as stuck. No other is started meanwhile. */
const MOST_CHECKS_TO_END = 10;
/** A loop that dies this soon after its start is started again after a rest, which doubles with each short life. */
const SHORT_LIFE_MS = 1000;
const REST_MS = 500;
const LONGEST_REST_MS = 8000;
/** `close` gives the loop this long to end by itself, and then its thread as long to be ended. */
const GRACE_MS = 2000;

/** The fate of an order that a life ended without answering. */
type Fate =
  /** The next life gets it. */
  | 'again'
  /** It fails with a `LoopDeath`. */
  | 'lost'
  /** It is answered when the orders of `restore` are, which have the same effect. */
  | 'restored';

/** An order with which the loop died twice may be the cause. */
export const againOnce = (deaths: number): Fate => (deaths < 2 ? 'again' : 'lost');

export type LoopLog = Pick<Logger, 'error' | 'warn'>;

export interface WorkerLoopOptions<Setup, Report> {
  /** A noun without an article, for log lines and errors. */
  readonly name: string;
  readonly log: LoopLog;
  readonly run: RunLoop<Setup>;
  /** Passed to the next life. Called when the previous one has ended. */
  readonly newSetup: () => Setup;
  /** Wakes a loop that does not wait on the bell word. */
  readonly ring?: () => void;
  /** Whether it has work besides its orders. A loop without work may be silent. */
  readonly isBusy: () => boolean;
  /** After how many checks without a round a loop with something to do may hang. */
  readonly mostMissedChecks?: number;
  /** Called with every check. */
  readonly onCheck?: () => void;
  readonly onReport?: (report: Report) => void;
  /**
   * Decides about an order that this many lives have ended with; `againOnce` by default. Between two lives it is asked
   * with 0 about new orders: those that are not `restored` are given to the next.
   */
  readonly fate?: (request: TaskRequest, deaths: number) => Fate;
  /** Called when the thread has gone. Returns how much that concerns, for the log. */
  readonly onDeath?: (reason: string) => object;
  /** Asks the next life for what the previous ones had. These orders come before those that wait. */
  readonly restore?: () => readonly Promise<unknown>[];
  /** Called when the orders of `restore` are answered. */
  readonly onRestart?: (reason: string) => void;
}

interface Pending {
  readonly request: TaskRequest;
  readonly resolve: (value: unknown) => void;
  readonly reject: (error: unknown) => void;
  /** How many lives have ended without an answer to it. */
  deaths: number;
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
  /** Undefined before the first order, between two lives, and after the last. */
  #run: LoopRun<Setup, Report> | undefined;
  #startedAt = 0;
  /** The number of short lives in a row. */
  #shortLives = 0;
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

  /** Whether there is a thread that may use what the loop was given. */
  get hasThread(): boolean {
    return this.#run !== undefined;
  }

  /** Whether its thread runs. One that follows a short life must have lived longer itself. */
  get isWell(): boolean {
    if (this.#run === undefined || this.#run.isKilled) return false;
    return this.#shortLives === 0 || performance.now() - this.#startedAt >= SHORT_LIFE_MS;
  }

  /** Starts the thread before the first order. */
  start(): void {
    this.#run ??= this.#launch();
  }

  /** Resolves with the answer. Orders are carried out one after the other. */
  ask(request: TaskRequest): Promise<unknown> {
    return this.#send(request, 0);
  }

  /** Wakes the loop for work that is no order. */
  ring(): void {
    const { ring } = this.#options;
    if (ring !== undefined) {
      ring();
      return;
    }
    // Incremented before the wake-up, so that a loop that is about to wait sees the change.
    Atomics.add(this.#words, LOOP_CONTROL.bell, 1);
    Atomics.notify(this.#words, LOOP_CONTROL.bell);
  }

  /** Lets the thread end after its round, also while the process exits. It takes no more orders, and is not started again. */
  tellToEnd(): void {
    this.#isClosing = true;
    Atomics.store(this.#words, LOOP_CONTROL.stop, 1);
    this.ring();
    if (this.#run === undefined) this.#finish();
  }

  async close(): Promise<void> {
    clearInterval(this.#watch);
    this.tellToEnd();
    const patience = setTimeout(() => {
      this.kill();
    }, GRACE_MS);
    const despair = setTimeout(() => {
      this.#noteStuck();
      this.#finish();
    }, 2 * GRACE_MS);
    await this.#closed;
    clearTimeout(patience);
    clearTimeout(despair);
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
    Atomics.store(this.#words, LOOP_CONTROL.thread, 0);
    const watched = {
      beatsAtStart: Atomics.load(this.#words, LOOP_CONTROL.heartbeat),
      beats: -1,
      missed: 0,
      sinceKill: 0,
      computed: undefined,
    };
    clearInterval(this.#watch);
    this.#watch = setInterval(() => {
      this.#check(watched);
    }, CHECK_MS).unref();
    const { newSetup, run } = this.#options;
    const started = new LoopRun<Setup, Report>(this.#control, newSetup(), run, (message) => {
      this.#hear(message);
    });
    void started.ended.then((reason) => {
      this.#onEnd(reason);
    });
    return started;
  }

  #hear(message: LoopMessage<Report>): void {
    if (message.kind === 'report') {
      this.#options.onReport?.(message.report);
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
    this.#run = undefined;
    if (this.#isClosing) {
      this.#finish();
      return;
    }
    const { name, log, onDeath } = this.#options;
    for (const [number, pending] of this.#pending) {
      const { request, reject } = pending;
      const times = pending.deaths > 0 ? 'twice ' : '';
      if (this.#fate(request, ++pending.deaths) !== 'lost') continue;
      this.#pending.delete(number);
      reject(new LoopDeath(`the ${name} ended ${times}with the order ${request.task}: ${reason}`));
    }
    const isShort = performance.now() - this.#startedAt < SHORT_LIFE_MS;
    const restMs = isShort ? Math.min(LONGEST_REST_MS, REST_MS * 2 ** this.#shortLives) : 0;
    this.#shortLives = isShort ? this.#shortLives + 1 : 0;
    const concerned = onDeath?.(reason) ?? {};
    log.error({ reason, restMs, ...concerned }, `a ${name} died`);
    this.#rest = setTimeout(() => {
      this.#restart(reason, concerned);
    }, restMs);
  }

  #fate(request: TaskRequest, deaths: number): Fate {
    const { fate } = this.#options;
    return fate === undefined ? againOnce(deaths) : fate(request, deaths);
  }

  #finish(): void {
    clearTimeout(this.#rest);
    for (const { reject } of this.#pending.values()) reject(refusals.stopping());
    this.#pending.clear();
    this.#noteClosed();
  }

  #restart(reason: string, concerned: object): void {
    this.#rest = undefined;
    this.#restarts++;
    const waiting = this.#pending;
    this.#pending = new Map();
    this.#run = this.#launch();
    const { name, log, restore, onRestart } = this.#options;
    const restored = Promise.allSettled(restore?.() ?? []);
    for (const { request, resolve, reject, deaths } of waiting.values()) {
      if (this.#fate(request, deaths) === 'restored') void restored.then(resolve);
      else this.#send(request, deaths).then(resolve, reject);
    }
    void restored.then(() => {
      log.error({ reason, restarts: this.#restarts, ...concerned }, `a ${name} was restarted`);
      onRestart?.(reason);
    });
  }

  #check(watched: {
    readonly beatsAtStart: number;
    beats: number;
    missed: number;
    sinceKill: number;
    computed: number | undefined;
  }): void {
    const { name, log, isBusy, mostMissedChecks = MOST_MISSED_CHECKS, onCheck } = this.#options;
    onCheck?.();
    if (this.#run === undefined) return;
    if (this.#run.isKilled) {
      if (++watched.sinceKill === MOST_CHECKS_TO_END) this.#noteStuck();
      return;
    }
    const beats = Atomics.load(this.#words, LOOP_CONTROL.heartbeat);
    const hasNothingToDo = !isBusy() && this.#pending.size === 0;
    watched.missed = beats === watched.beats && !hasNothingToDo ? watched.missed + 1 : 0;
    watched.beats = beats;
    if (watched.missed === 1) watched.computed = this.#computed();
    const most = beats === watched.beatsAtStart ? MOST_CHECKS_TO_START : mostMissedChecks;
    if (watched.missed < most) return;
    if (this.#isWaiting(watched.computed) && watched.missed < MOST_CHECKS_FOR_DISK) {
      if (watched.missed === most) log.warn(`a ${name} has been waiting for the disk for ten seconds`);
      return;
    }
    this.#run.kill();
  }

  #noteStuck(): void {
    const { name, log } = this.#options;
    log.error(`the thread of a ${name} does not end; what it did stands still`);
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
