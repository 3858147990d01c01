/** A writer loop in a thread of its own, that can be killed and broken, and logs for it. */
import { closeSync, fdatasyncSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { Worker } from 'node:worker_threads';
import { LogReader } from '../../src/captures/log/log-reader.js';
import type { LogFile } from '../../src/captures/log/log-file.js';
import type { FileChores } from '../../src/captures/writing/file-chores.js';
import { WriterThread } from '../../src/captures/writing/writer-thread.js';
import type { LogPlan } from '../../src/captures/writing/writer-orders.js';
import type { CaptureMemory } from '../../src/base/memory/capture-memory.js';
import { loopThread } from '../../src/base/threads/loop-thread.js';
import { TaskPool } from '../../src/base/threads/task-pool.js';
import { eventually } from './eventually.js';
import { LogScribe, memoryOf, type Format } from './log-scribe.js';
import { PaperLog } from './paper-log.js';
import { scratchFolder, type Teardown } from './scratch.js';
import type { ScribeWork } from './scribe-worker.js';

export const CAPTURE_WORKER = new URL('../../workers/capture-worker.js', import.meta.url);
export const FAULTY_CAPTURE_WORKER = new URL('./faulty-capture-worker.js', import.meta.url);
export const HEADER = Buffer.from('a header of 24 octets...');

const CHORE_WORKER = new URL('../../workers/chore-worker.js', import.meta.url);
const SCRIBE = new URL('./scribe-worker.js', import.meta.url);
const LOGS = 8;
const CHUNKS = 16;

export class LiveWriter {
  readonly folder: string;
  readonly memories: readonly CaptureMemory[];
  readonly writer: WriterThread;
  readonly log = new PaperLog();
  readonly troubles: string[] = [];
  readonly logs: readonly LogReader[];
  /** Descriptors that were closed. */
  readonly closed: number[] = [];
  /** Called with each next life, when it has not adopted its logs yet. */
  onNextLife = (): void => undefined;

  constructor(t: Teardown, { worker = CAPTURE_WORKER, floorBytes = 0, folder = scratchFolder(t) } = {}) {
    this.folder = folder;
    this.memories = Array.from({ length: LOGS }, () => memoryOf(CHUNKS));
    this.logs = this.memories.map((memory, index) => {
      const log = new LogReader({ memory, index });
      log.prepare();
      return log;
    });
    const thread = loopThread(worker);
    let lives = 0;
    this.writer = new WriterThread({
      memories: this.memories,
      floorBytes,
      run: (start, move, signal) => {
        if (++lives > 1) {
          queueMicrotask(() => {
            this.onNextLife();
          });
        }
        return thread(start, move, signal);
      },
      log: this.log.log,
    });
    t.teardown(() => this.writer.close());
  }

  /** Why it was started again, each time. */
  get reasons(): readonly (string | undefined)[] {
    return this.log.restartReasons;
  }

  logAt(index: number): LogReader {
    const log = this.logs[index];
    if (log === undefined) throw new RangeError(`there is no log ${index}`);
    return log;
  }

  begin(index: number, plan: Partial<LogPlan> = {}): Promise<LogFile> {
    const wanted = {
      memory: index,
      log: index,
      folder: this.folder,
      name: `captures/${index}.pcap`,
      format: 'pcap' as const,
      header: HEADER,
      files: 1,
      fileBytes: 0,
      ...plan,
    };
    return this.writer.begin(wanted, this.logAt(index), {
      sync: (fd) => {
        fdatasyncSync(fd);
        return Promise.resolve();
      },
      close: (fd) => {
        closeSync(fd);
        this.closed.push(fd);
      },
      onTrouble: (reason) => this.troubles.push(`${index}: ${reason}`),
    });
  }

  /** For a log that is written in this thread. */
  scribe(index: number): LogScribe {
    return new LogScribe(this.logAt(index).memory, index);
  }

  /** Writes records in a thread of their own; resolves with the position after the last one. */
  write(index: number, records: number, format: Format = 'pcap'): Promise<number> {
    const workerData: ScribeWork = { memory: this.logAt(index).memory, index, records, format };
    return new Promise((resolve, reject) => {
      new Worker(SCRIBE, { workerData }).on('message', resolve).on('error', reject);
    });
  }

  content(index: number): Buffer {
    return readFileSync(join(this.folder, 'captures', `${index}.pcap`));
  }

  /** The files of a ring, oldest first. */
  ring(index: number): Buffer[] {
    const folder = join(this.folder, 'captures');
    const pattern = new RegExp(`^${index}(?:\\.(\\d+))?\\.pcap$`);
    const ages = new Map(readdirSync(folder).map((name) => [name, pattern.exec(name)?.[1] ?? '0']));
    const names = [...ages.keys()].filter((name) => pattern.test(name));
    names.sort((one, other) => Number(ages.get(other)) - Number(ages.get(one)));
    return names.map((name) => readFileSync(join(folder, name)));
  }

  async restarted(times: number): Promise<void> {
    await eventually(`it is started again ${times} times`, () =>
      this.reasons.length >= times ? true : undefined,
    );
  }
}

export function newChorePool(): TaskPool<FileChores> {
  return new TaskPool({ worker: CHORE_WORKER, threads: 1, readyThreads: 0, queueLimit: Infinity });
}

export function openDescriptors(): number {
  return process.platform === 'linux' ? readdirSync('/proc/self/fd').length : 0;
}
