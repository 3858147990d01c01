/**
 * The HTTP thread's side of one writer loop, with the logs that it drains. A loop that is started again gets all logs
 * before the orders that wait.
 */
import type { RunLoop } from '../../base/threads/loop-run.js';
import { againOnce, LoopDeath, WorkerLoop, type LoopLog } from '../../base/threads/worker-loop.js';
import type { LogReader } from '../log/log-reader.js';
import { LogFile, type LogFileOptions } from '../log/log-file.js';
import type { LogPlan, OpenSegment, WriterCommand, WriterReport, WriterSetup } from './writer-orders.js';

interface WriterThreadOptions extends WriterSetup {
  readonly run: RunLoop<WriterSetup>;
  readonly log: LoopLog;
}

/** A log that is drained, with what the next life of the loop needs to go on with it. */
interface Drain {
  readonly plan: LogPlan;
  readonly log: LogReader;
  readonly file: LogFile;
}

export class WriterThread {
  readonly #loop: WorkerLoop<WriterSetup, WriterReport>;
  readonly #drains = new Map<number, Drain>();
  #lastId = 0;
  #load = 0;

  constructor({ memories, floorBytes, run, log }: WriterThreadOptions) {
    this.#loop = new WorkerLoop<WriterSetup, WriterReport>({
      name: 'writer of captures',
      log,
      run,
      newSetup: () => ({ memories, floorBytes }),
      onReport: (report) => {
        this.#hear(report);
      },
      isBusy: () => this.#load > 0,
      onCheck: () => {
        // A position must be read at least once in 4 GiB.
        for (const { log } of this.#drains.values()) log.look();
      },
      // Each life adopts the logs as they are by then.
      fate: ({ task }, deaths) => (task === 'adopt' ? 'lost' : againOnce(deaths)),
      onDeath: () => ({ captures: this.#drains.size }),
      restore: () => [...this.#drains.values()].map((drain) => this.#adopt(drain)),
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

  async #adopt({ plan, log, file }: Drain): Promise<void> {
    if (file.failure !== undefined) return;
    const { fd, start } = file.current;
    const input = { plan, segment: { fd, start }, position: log.drained };
    try {
      await this.#ask({ task: 'adopt', input });
    } catch (error) {
      // The next life adopts it.
      if (error instanceof LoopDeath) return;
      file.failed(error instanceof Error ? error.message : String(error));
    }
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
