/** How much a thread of this process has computed, which tells one that spins from one that waits for the disk. */
import { readFileSync, readlinkSync } from 'node:fs';
import { basename } from 'node:path';

/** The kernel tells hundredths of a second to all programs. */
const TICK_MS = 10;
/** Of the fields behind the name, which may have blanks in it. */
const USER_TIME = 12;

/** The number of the calling thread; 0 where the host does not tell. */
export function ownThread(): number {
  if (process.platform !== 'linux') return 0;
  return Number(basename(readlinkSync('/proc/thread-self')));
}

/** How long it has computed by itself, without what the kernel did for it; undefined where the host does not tell. */
export function computedMs(thread: number): number | undefined {
  if (thread === 0) return undefined;
  try {
    const stat = readFileSync(`/proc/self/task/${thread}/stat`, 'utf8');
    return Number(stat.slice(stat.lastIndexOf(')')).split(' ')[USER_TIME]) * TICK_MS;
  } catch {
    return undefined;
  }
}
