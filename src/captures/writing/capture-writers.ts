/**
 * What drains captures to files: some loops, each in a thread of its own that is started when it is first needed,
 * and one more thread for what may take its time. A log stays with the loop that had least to do when it began.
 */
import { availableParallelism } from 'node:os';
import { Piscina } from 'piscina';
import type { Logger } from 'pino';
import type { CaptureMemory } from '../../base/memory/capture-memory.js';
import { valueOf, type TaskOutcome, type TaskRequest } from '../../base/threads/task.js';
import type { LogReader } from '../log/log-reader.js';
import type { FileChores } from './file-chores.js';
import type { LogFile } from '../log/log-file.js';
import { WriterThread } from './writer-thread.js';
import type { LogPlan, WriterStart } from './writer-orders.js';

const CORES_A_LOOP = 2;
const CHORE_THREADS = 1;
const IDLE_MS = 10_000;

export interface CaptureWritersOptions {
  readonly worker: URL;
  /** Where logs may lie. */
  readonly memories: readonly CaptureMemory[];
  readonly log: Logger;
  /** Captures end before a disk has less than so much free. */
  readonly floorOctets: number;
}

export interface LogFileRequest extends Pick<
  LogPlan,
  'folder' | 'name' | 'format' | 'header' | 'files' | 'fileOctets'
> {
  /** Prepared, and without a tap yet. */
  readonly log: LogReader;
  /** It is not written any further: called once, with what to do about it. */
  readonly onTrouble: (reason: string) => void;
}

export class CaptureWriters {
  readonly #pool: Piscina<unknown, unknown>;
  readonly #options: CaptureWritersOptions;
  readonly #loops: readonly WriterThread[];
  readonly #chores = new Set<Promise<unknown>>();
  readonly #tellAll = (): void => {
    for (const loop of this.#loops) loop.tellToEnd();
  };

  constructor(options: CaptureWritersOptions) {
    this.#options = options;
    const { worker, memories, floorOctets, log } = options;
    const count = Math.max(1, Math.floor(availableParallelism() / CORES_A_LOOP));
    this.#pool = new Piscina<unknown, unknown>({
      filename: worker.href,
      minThreads: 0,
      maxThreads: count + CHORE_THREADS,
      idleTimeout: IDLE_MS,
      atomics: 'disabled',
      recordTiming: false,
      // Descriptors are the HTTP thread's: a loop that dies leaves them as they are.
      trackUnmanagedFds: false,
    });
    this.#pool.on('error', (error: unknown) => {
      log.error({ err: error }, 'a thread that writes captures failed');
    });
    this.#loops = Array.from({ length: count }, () => {
      return new WriterThread({
        memories,
        floorOctets,
        run: async (start: WriterStart, move, signal) => {
          await this.#pool.run(start, { transferList: [...move], signal });
        },
        onRestart: (reason, logs) => {
          log.error({ reason, captures: logs }, 'a writer of captures was restarted');
        },
        onStall: () => {
          log.warn('a writer of captures has been waiting for the disk for ten seconds');
        },
      });
    });
    // A thread that waits would hold up the end of the process.
    process.once('exit', this.#tellAll);
  }

  /** When it resolves, the file is there with its header, and everything in the log goes into it. */
  async begin({ log, onTrouble, ...file }: LogFileRequest): Promise<LogFile> {
    const memory = this.#options.memories.indexOf(log.memory);
    if (memory < 0) throw new RangeError('a log lies in a memory that the writers were not given');
    const loop = this.#loops.reduce((least, other) => (other.load < least.load ? other : least));
    return loop.begin({ ...file, memory, log: log.index }, log, {
      onTrouble,
      sync: async (fd) => {
        await this.#doChore('syncFile', { fd });
      },
      close: (fd) => {
        this.#doChore('closeFile', { fd }).catch((error: unknown) => {
          this.#options.log.error({ err: error }, 'the file of a capture could not be closed');
        });
      },
    });
  }

  /** Ends what is still written. Descriptors that somebody holds stay open. */
  async close(): Promise<void> {
    process.off('exit', this.#tellAll);
    const files = this.#loops.flatMap((loop) => loop.files);
    await Promise.allSettled(files.map((file) => file.end()));
    await Promise.all(this.#loops.map((loop) => loop.close()));
    await Promise.allSettled(this.#chores);
    await this.#pool.destroy();
  }

  async #doChore<Name extends keyof FileChores & string>(
    task: Name,
    input: Parameters<FileChores[Name]>[0],
  ): Promise<unknown> {
    const request: TaskRequest = { task, input };
    const done = this.#pool
      .run(request, { name: 'doChore' })
      .then((outcome) => valueOf(outcome as TaskOutcome));
    this.#chores.add(done);
    try {
      return await done;
    } finally {
      this.#chores.delete(done);
    }
  }
}
