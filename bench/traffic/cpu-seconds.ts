/** Counts the CPU time that a process has used so far: all its threads, from the scheduler's nanosecond counters. */
import { readdirSync, readFileSync } from 'node:fs';

const NANOSECONDS = 1e9;

export function cpuSecondsOf(pid: number): number {
  const tasks = `/proc/${pid}/task`;
  return readdirSync(tasks).reduce((sum, thread) => {
    const [ran = '0'] = readFileSync(`${tasks}/${thread}/schedstat`, 'utf8').split(' ');
    return sum + Number(ran) / NANOSECONDS;
  }, 0);
}
