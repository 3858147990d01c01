/** How much CPU time another process has spent, in all of its threads. */
import { readFileSync } from 'node:fs';

/** The kernel tells it in ticks of this length, whatever it counts in itself. */
const TICK_MS = 10;
/** Places in /proc/…/stat, counted from behind the name. */
const USER = 11;
const SYSTEM = 12;

export function cpuMsOf(pid: number | undefined): number {
  const fields =
    readFileSync(`/proc/${pid ?? 0}/stat`, 'utf8')
      .split(') ')
      .at(-1)
      ?.split(' ') ?? [];
  return (Number(fields[USER]) + Number(fields[SYSTEM])) * TICK_MS;
}
