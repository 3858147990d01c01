/**
 * The HTTP thread's side of one writer loop, with the logs that it drains. A loop that is started again gets all logs
 * before the orders that wait.
 */
import { LoopDeath, WorkerLoop, type RunLoop } from '../../base/threads/worker-loop.js';
import type { LogReader } from '../log/log-reader.js';
import { LogFile, type LogFileOptions } from '../log/log-file.js';
import type {
  LogPlan,
  OpenSegment,
  WriterCommand,
  WriterLoopOptions,
  WriterReport,
} from './writer-orders.js';

export interface WriterThreadOptions extends WriterLoopOptions {
  readonly run: RunLoop<WriterLoopOptions>;
  /** Called when the loop was started again, with the number of its logs. */
  readonly onRestart: (reason: string, logs: number) => void;
  readonly onStall?: (() => void) | undefined;
}

/** A log that is drained, with what the next life of the loop needs to go on with it. */
interface Drain {
  readonly plan: LogPlan;
  readonly log: LogReader;
  readonly file: LogFile;
}

export class WriterThread {
  readonly #loop: WorkerLoop<WriterLoopOptions, WriterReport>;
  readonly #drains = new Map<number, Drain>();
  #lastId = 0;
  #load = 0;

  constructor({ memories, floorBytes, run, onRestart, onStall }: WriterThreadOptions) {
    this.#loop = new WorkerLoop<WriterLoopOptions, WriterReport>({
      name: 'the writer of captures',
      setup: { memories, floorBytes },
      run,
      onReport: (report) => {
        this.#hear(report);
      },
      isBusy: () => this.#load > 0,
      onCheck: () => {
        // A position must be read at least once in 4 GiB.
        for (const { log } of this.#drains.values()) log.look();
      },
      onStall,
      // `#adopt` is called for every log with each restart anyway.
      onceOnly: ['adopt'],
      onRestart: (reason) => {
        for (const drain of this.#drains.values()) this.#adopt(drain);
        onRestart(reason, this.#drains.size);
      },
    });
  }

  /** How many logs it drains, or is about to. */
  get load(): number {
    return this.#load;
  }

  get restarts(): number {
    return this.#loop.restarts;
  }

  /** Begins to drain the log at its present position. Resolves when the file exists with its header. */
  async begin(
    plan: Omit<LogPlan, 'id'>,
    log: LogReader,
    parts: Pick<LogFileOptions, 'sync' | 'close' | 'onTrouble'>,
  ): Promise<LogFile> {
    const id = ++this.#lastId;
    this.#load++;
    try {
      const numbered = { ...plan, id };
      const segment = await this.#ask({
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
      // Reports of the loop come later than its answer, so they find the log here.
      this.#drains.set(id, { plan: numbered, log, file });
      return file;
    } catch (error) {
      this.#load--;
      throw error;
    }
  }

  /** The files that are still being written. */
  get files(): LogFile[] {
    return [...this.#drains.values()].map(({ file }) => file);
  }

  /** Lets the thread end after its round. */
  tellToEnd(): void {
    this.#loop.tellToEnd();
  }

  close(): Promise<void> {
    return this.#loop.close();
  }

  /** Ends the thread as if it had died. */
  kill(): void {
    this.#loop.kill();
  }

  #ask(command: WriterCommand): Promise<unknown> {
    return this.#loop.ask(command);
  }

  #adopt({ plan, log, file }: Drain): void {
    if (file.failure !== undefined) return;
    const { fd, start } = file.current;
    const input = { plan, segment: { fd, start }, position: log.drained };
    this.#ask({ task: 'adopt', input }).catch((error: unknown) => {
      // The next life adopts it.
      if (error instanceof LoopDeath) return;
      file.failed(error instanceof Error ? error.message : String(error));
    });
  }

  async #end(id: number): Promise<void> {
    try {
      await this.#ask({ task: 'end', input: { id } });
    } finally {
      if (this.#drains.delete(id)) this.#load--;
    }
  }

  #hear(report: WriterReport): void {
    const file = this.#drains.get(report.id)?.file;
    if (report.kind === 'rotated') file?.rotated(report.segment);
    else file?.failed(report.reason);
  }
}
