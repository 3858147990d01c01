/** A task of a reader thread: it looks at this process and at its disks from outside, as no other thread can without waiting. */
import { readdirSync, readFileSync, statfsSync } from 'node:fs';
import type { TaskTable } from '../base/threads/task.js';
import { roleOf } from '../base/threads/thread-work.js';

export interface ThreadTimes {
  readonly thread: number;
  /** The work that the thread does. */
  readonly role: string;
  readonly cpuSeconds: number;
  /** The time that it waited for a core. */
  readonly waitSeconds: number;
}

export interface WatchedDisk {
  readonly part: string;
  readonly size: number;
  readonly free: number;
  readonly inodesFree: number;
}

interface Measures {
  readonly threads: readonly ThreadTimes[];
  readonly openFiles: number;
  readonly disks: readonly WatchedDisk[];
}

export interface MeasureTasks extends TaskTable {
  /** The parts are folders by their names. What this system does not tell is left out. */
  readonly measure: (input: { parts: Readonly<Record<string, string>> }) => Measures;
}

const NANO = 1e-9;
const THREADS = '/proc/self/task';

export const measureTasks: MeasureTasks = {
  measure: ({ parts }) => ({
    threads: entriesOf(THREADS).flatMap((thread) => unlessGone(() => timesOf(Number(thread)))),
    openFiles: entriesOf('/proc/self/fd').length,
    disks: Object.entries(parts).flatMap(([part, folder]) => unlessGone(() => roomOf(part, folder))),
  }),
};

function timesOf(thread: number): ThreadTimes {
  const folder = `${THREADS}/${thread}`;
  const [cpu = 0, wait = 0] = readFileSync(`${folder}/schedstat`, 'utf8').split(' ').map(Number);
  const name = readFileSync(`${folder}/comm`, 'utf8').trimEnd();
  const role = thread === process.pid ? 'http' : roleOf(name);
  return { thread, role, cpuSeconds: cpu * NANO, waitSeconds: wait * NANO };
}

function roomOf(part: string, folder: string): WatchedDisk {
  const { bsize, blocks, bavail, ffree } = statfsSync(folder);
  return { part, size: blocks * bsize, free: bavail * bsize, inodesFree: ffree };
}

function entriesOf(folder: string): string[] {
  return unlessGone(() => readdirSync(folder)).flat();
}

/** Threads end meanwhile, and folders may not be there yet. */
function unlessGone<Found>(look: () => Found): [] | [Found] {
  try {
    return [look()];
  } catch {
    return [];
  }
}
