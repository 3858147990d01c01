/** Drains captures to files. A log stays with the loop that had the least to do when it began. */
import type { Logger } from 'pino';
import type { CaptureMemory } from '../../base/memory/capture-memory.js';
import { LoopPool } from '../../base/threads/loop-pool.js';
import type { TaskRunner } from '../../base/threads/task-pool.js';
import type { LogFile } from '../log/log-file.js';
import type { LogReader } from '../log/log-reader.js';
import type { FileChores } from './file-chores.js';
import type { LogPlan } from './writer-orders.js';
import { WriterThread } from './writer-thread.js';

interface CaptureWritersOptions {
  readonly worker: URL;
  /** Threads for what may wait long for the disk. */
  readonly chores: TaskRunner<FileChores>;
  /** The memories that logs may lie in. */
  readonly memories: readonly CaptureMemory[];
  readonly log: Logger;
  /** Captures end before a disk has fewer bytes free. */
  readonly floorBytes: number;
}

interface LogFileRequest extends Pick<
  LogPlan,
  'folder' | 'name' | 'format' | 'header' | 'files' | 'fileBytes' | 'earlier'
> {
  /** Prepared, and without a tap yet. */
  readonly log: LogReader;
  /** Called once, with the reason, when the file is not written any further. */
  readonly onTrouble: (reason: string) => void;
}

export class CaptureWriters {
  readonly #options: CaptureWritersOptions;
  readonly #pool: LoopPool<WriterThread>;

  constructor(options: CaptureWritersOptions) {
    this.#options = options;
    const { worker, memories, floorBytes, log } = options;
    this.#pool = new LoopPool({
      worker,
      newLoop: (run) => new WriterThread({ memories, floorBytes, run, log }),
    });
  }

  /** Resolves when the file exists with its header; everything that is in the log goes into it. */
  async begin({ log, onTrouble, ...file }: LogFileRequest): Promise<LogFile> {
    const memory = this.#options.memories.indexOf(log.memory);
    if (memory < 0) throw new RangeError('a log lies in a memory that the writers were not given');
    return this.#pool.leastLoaded.begin({ ...file, memory, log: log.index }, log, {
      onTrouble,
      sync: async (fd) => {
        await this.#options.chores.run('syncFile', { fd });
      },
      close: (fd) => {
        const { chores, log } = this.#options;
        chores.run('closeFile', { fd }).catch((error: unknown) => {
          log.error({ err: error }, 'the file of a capture could not be closed');
        });
      },
    });
  }

  /** Ends what is still written. Descriptors that are held stay open. */
  async close(): Promise<void> {
    const files = this.#pool.loops.flatMap((loop) => loop.files);
    await Promise.allSettled(files.map((file) => file.end()));
    await this.#pool.close();
  }
}
