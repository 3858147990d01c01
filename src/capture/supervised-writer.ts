/**
 * One writer loop as the HTTP thread sees it. Its thread is started by the first order. A loop that dies, or does
 * not come round any more, is started again with all its logs; orders that were on their way are given again.
 */
import { refusals } from '../errors.js';
import { valueOf } from '../pool/task.js';
import type { CaptureLog } from './capture-log.js';
import { LogFile, type LogFileParts } from './log-file.js';
import {
  WRITER_CONTROL,
  WRITER_CONTROL_WORDS,
  type LogPlan,
  type OpenSegment,
  type WriterMessage,
  type WriterCommand,
  type WriterStart,
} from './writer-orders.js';
import { WriterRun, type RunWriterTask } from './writer-run.js';

/** A loop that has not come round for so many checks hangs: 10 s, because a slow disk may take its time. */
const CHECK_MS = 500;
const MOST_MISSED_CHECKS = 20;
/** A loop that dies within a second of its start is not started again at once. */
const SHORT_LIFE_MS = 1000;
const REST_MS = 500;
/** A loop that is told to end has this long to do so. */
const GRACE_MS = 2000;

export interface WriterSurroundings extends Pick<WriterStart, 'memories' | 'floorOctets'> {
  readonly run: RunWriterTask;
  /** When a loop was started again with so many logs. */
  readonly onRestart: (reason: string, logs: number) => void;
}

/** A log that is drained, and what its loop has to be told of it. */
interface Drain {
  readonly plan: LogPlan;
  readonly log: CaptureLog;
  readonly file: LogFile;
}

interface Pending {
  readonly command: WriterCommand;
  readonly resolve: (value: unknown) => void;
  readonly reject: (error: unknown) => void;
  /** How many loops have died with it. */
  readonly deaths: number;
}

export class SupervisedWriter {
  readonly #surroundings: WriterSurroundings;
  readonly #control = new SharedArrayBuffer(WRITER_CONTROL_WORDS * Int32Array.BYTES_PER_ELEMENT);
  readonly #words = new Int32Array(this.#control);
  readonly #drains = new Map<number, Drain>();
  #pending = new Map<number, Pending>();
  #lastNumber = 0;
  #lastId = 0;
  #load = 0;
  #restarts = 0;
  #run: WriterRun | undefined;
  #startedAt = 0;
  #rest: NodeJS.Timeout | undefined;
  #isClosing = false;
  #watch: NodeJS.Timeout | undefined;
  readonly #closed: Promise<void>;
  #noteClosed: () => void = () => undefined;

  constructor(surroundings: WriterSurroundings) {
    this.#surroundings = surroundings;
    this.#closed = new Promise((resolve) => (this.#noteClosed = resolve));
  }

  /** How many logs it has, or is about to have. */
  get load(): number {
    return this.#load;
  }

  get restarts(): number {
    return this.#restarts;
  }

  /** Drains the log from where it is on. When it resolves, the file is there with its header. */
  async begin(
    plan: Omit<LogPlan, 'id'>,
    log: CaptureLog,
    parts: Pick<LogFileParts, 'sync' | 'close' | 'onTrouble'>,
  ): Promise<LogFile> {
    const id = ++this.#lastId;
    this.#load++;
    try {
      const numbered = { ...plan, id };
      const segment = await this.#send({
        task: 'begin',
        input: { plan: numbered, position: log.drained },
      });
      const file: LogFile = new LogFile({
        ...parts,
        log,
        segment: segment as OpenSegment,
        headerLength: plan.header.length,
        files: plan.files,
        finish: () => this.#end(id),
      });
      // What the loop says of the log comes later than its answer, and finds it here.
      this.#drains.set(id, { plan: numbered, log, file });
      return file;
    } catch (error) {
      this.#load--;
      throw error;
    }
  }

  /** The files that are still written. */
  get files(): LogFile[] {
    return [...this.#drains.values()].map(({ file }) => file);
  }

  /** Tells the thread to end, which it does after its round. */
  tellToEnd(): void {
    this.#isClosing = true;
    Atomics.store(this.#words, WRITER_CONTROL.stop, 1);
    this.#ring();
  }

  async close(): Promise<void> {
    clearInterval(this.#watch);
    this.tellToEnd();
    if (this.#run === undefined || this.#rest !== undefined) this.#finish();
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

  async #end(id: number): Promise<void> {
    try {
      await this.#send({ task: 'end', input: { id } });
    } finally {
      if (this.#drains.delete(id)) this.#load--;
    }
  }

  #send(command: WriterCommand, deaths = 0): Promise<unknown> {
    return new Promise((resolve, reject) => {
      if (this.#isClosing) throw refusals.stopping();
      const number = ++this.#lastNumber;
      this.#pending.set(number, { command, resolve, reject, deaths });
      // A loop that rests is given it when it starts again.
      if (this.#rest !== undefined) return;
      this.#run ??= this.#launch();
      this.#run.send({ number, command });
      this.#ring();
    });
  }

  #ring(): void {
    // Raised first: a loop that is about to wait sees that it changed.
    Atomics.add(this.#words, WRITER_CONTROL.bell, 1);
    Atomics.notify(this.#words, WRITER_CONTROL.bell);
  }

  #launch(): WriterRun {
    this.#startedAt = performance.now();
    const last = { beats: -1, missed: 0 };
    clearInterval(this.#watch);
    this.#watch = setInterval(() => {
      this.#check(last);
    }, CHECK_MS).unref();
    const { memories, floorOctets, run } = this.#surroundings;
    const started = new WriterRun({ control: this.#control, memories, floorOctets }, run, (message) => {
      this.#hear(message);
    });
    void started.ended.then((reason) => {
      this.#onEnd(reason);
    });
    return started;
  }

  #hear(message: WriterMessage): void {
    if (message.kind === 'answer') this.#settle(message.number, () => valueOf(message.outcome));
    else if (message.kind === 'rotated') this.#drains.get(message.id)?.file.rotated(message.segment);
    else this.#drains.get(message.id)?.file.failed(message.reason);
  }

  #settle(number: number, value: () => unknown): void {
    const pending = this.#pending.get(number);
    if (pending === undefined) return;
    this.#pending.delete(number);
    try {
      pending.resolve(value());
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
      const { command, reject, deaths } = pending;
      // It may be what loops die of.
      if (deaths > 0) reject(new Error(`the writer of captures ended twice with an order: ${reason}`));
      // The log is given again in any case.
      else if (command.task !== 'adopt') this.#pending.set(number, { ...pending, deaths: deaths + 1 });
    }
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
    for (const { plan, log, file } of this.#drains.values()) {
      if (file.failure !== undefined) continue;
      const { fd, start } = file.current;
      const input = { plan, segment: { fd, start }, position: log.drained };
      this.#send({ task: 'adopt', input }).catch((error: unknown) => {
        file.failed(error instanceof Error ? error.message : String(error));
      });
    }
    for (const { command, resolve, reject, deaths } of waiting.values()) {
      this.#send(command, deaths).then(resolve, reject);
    }
    this.#surroundings.onRestart(reason, this.#drains.size);
  }

  #check(last: { beats: number; missed: number }): void {
    // Their positions must be looked at now and then.
    for (const { log } of this.#drains.values()) log.look();
    const beats = Atomics.load(this.#words, WRITER_CONTROL.heartbeat);
    const hasNothingToDo = this.#load === 0 && this.#pending.size === 0;
    last.missed = beats === last.beats && !hasNothingToDo ? last.missed + 1 : 0;
    last.beats = beats;
    if (last.missed < MOST_MISSED_CHECKS) return;
    last.missed = 0;
    this.#run?.kill();
  }
}
