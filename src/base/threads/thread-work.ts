/** The computing time of a thread of this process, which tells a thread that spins from one that waits for the disk. */
import { readFileSync, readlinkSync } from 'node:fs';
import { basename } from 'node:path';

/** The kernel counts in hundredths of a second. */
const TICK_MS = 10;
/** The index of the field, counted behind the name, which may contain blanks. */
const USER_TIME = 12;

/** The number of the calling thread; 0 where the system does not tell. */
export function ownThread(): number {
  if (process.platform !== 'linux') return 0;
  return Number(basename(readlinkSync('/proc/thread-self')));
}

/** The time that the thread has computed, without time in the kernel; undefined where the system does not tell. */
export function computedMs(thread: number): number | undefined {
  if (thread === 0) return undefined;
  try {
    const stat = readFileSync(`/proc/self/task/${thread}/stat`, 'utf8');
    return Number(stat.slice(stat.lastIndexOf(')')).split(' ')[USER_TIME]) * TICK_MS;
  } catch {
    return undefined;
  }
}
