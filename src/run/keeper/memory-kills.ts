/** The processes that the kernel kills when memory runs out, as its log tells. Only the superuser can read the log. */
import { constants, openSync, readSync } from 'node:fs';
import koffi from 'koffi';
import { systemCode } from '../../base/errors/errors.js';

const seek = koffi.load(null).func('int64_t lseek(int, int64_t, int)') as (
  fd: number,
  offset: number,
  from: number,
) => number;

const LOG = '/dev/kmsg';
const FROM_END = 2;
const LONGEST_RECORD = 8192;
/** More records than a log of the kernel has. */
const MOST_RECORDS = 100_000;
const KILLED = /Killed process (\d+) /;

export class MemoryKills {
  readonly #log: number | undefined;
  readonly #killed = new Set<number>();

  /** Kills from now on are told. */
  constructor() {
    try {
      const log = openSync(LOG, constants.O_RDONLY | constants.O_NONBLOCK);
      seek(log, 0, FROM_END);
      this.#log = log;
    } catch {
      // Nothing is told.
    }
  }

  /** Whether the kernel has killed the process; to be asked once, when it has ended. */
  has(pid: number): boolean {
    this.#read();
    return this.#killed.delete(pid);
  }

  #read(): void {
    const record = Buffer.alloc(LONGEST_RECORD);
    for (let count = 0; this.#log !== undefined && count < MOST_RECORDS; count++) {
      try {
        const length = readSync(this.#log, record);
        const [, pid] = KILLED.exec(record.toString('latin1', 0, length)) ?? [];
        if (pid !== undefined) this.#killed.add(Number(pid));
      } catch (error) {
        // Records that were overwritten before they were read are no reason to stop.
        if (systemCode(error) !== 'EPIPE') return;
      }
    }
  }
}
