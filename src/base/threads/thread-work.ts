/** The names of the threads of this process, and their computing time, which tells a thread that spins from one that waits for the disk. */
import { readFileSync, readlinkSync, writeFileSync } from 'node:fs';
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

/** The kinds of threads that are told apart. */
const ROLES = [
  ...['http', 'state', 'file', 'disk', 'reader', 'archive', 'chore', 'expression', 'namespace', 'memory'],
  ...['job', 'engine', 'capture', 'transfer', 'password', 'log'],
] as const;
const PREFIX = 'wf-';

/** Names the calling thread for whoever looks at the process from outside. */
export function nameThread(role: string): void {
  if (process.platform !== 'linux') return;
  try {
    writeFileSync('/proc/thread-self/comm', `${PREFIX}${role}`);
  } catch {
    // A system that does not let it be named counts it among the others.
  }
}

/** The role of a thread of this name; `other` for threads of Node.js itself. */
export function roleOf(name: string): string {
  return ROLES.find((role) => name === `${PREFIX}${role}`) ?? 'other';
}
