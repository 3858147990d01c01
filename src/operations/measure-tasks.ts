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

/** A program of a node: its process, and those that it has started. */
export interface ProgramTimes {
  readonly pid: number;
  readonly kind: string;
  readonly processes: number;
  readonly cpuSeconds: number;
  readonly memoryBytes: number;
}

interface Measures {
  readonly threads: readonly ThreadTimes[];
  readonly openFiles: number;
  readonly disks: readonly WatchedDisk[];
  readonly programs: readonly ProgramTimes[];
}

export interface MeasureTasks extends TaskTable {
  /** The parts are folders by their names. What this system does not tell is left out. */
  readonly measure: (input: {
    parts: Readonly<Record<string, string>>;
    programs: readonly Pick<ProgramTimes, 'pid' | 'kind'>[];
  }) => Measures;
}

const NANO = 1e-9;
/** The fields of a process after its name, which may have blanks: its own times and those of children that have ended. */
const USER_TIME = 11;
const TIMES = 4;
const RESIDENT_PAGES = 21;
const TICKS_A_SECOND = 100;
const PAGE_BYTES = 4096;
const MOST_PROCESSES = 64;
const THREADS = '/proc/self/task';

export const measureTasks: MeasureTasks = {
  measure: ({ parts, programs }) => ({
    threads: entriesOf(THREADS).flatMap((thread) => unlessGone(() => timesOf(Number(thread)))),
    openFiles: entriesOf('/proc/self/fd').length,
    disks: Object.entries(parts).flatMap(([part, folder]) => unlessGone(() => roomOf(part, folder))),
    programs: programs.flatMap(({ pid, kind }) => unlessGone(() => programTimes(pid, kind))),
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

/** Helpers that a program starts, such as that which confines it, count with it. */
function programTimes(pid: number, kind: string): ProgramTimes {
  let [processes, cpuSeconds, memoryBytes] = [0, 0, 0];
  const waiting = [pid];
  for (let next = waiting.pop(); next !== undefined && processes < MOST_PROCESSES; next = waiting.pop()) {
    const stat = readFileSync(`/proc/${next}/stat`, 'utf8');
    const fields = stat
      .slice(stat.lastIndexOf(')') + 2)
      .split(' ')
      .map(Number);
    const times = fields.slice(USER_TIME, USER_TIME + TIMES);
    processes++;
    cpuSeconds += times.reduce((sum, time) => sum + time, 0) / TICKS_A_SECOND;
    memoryBytes += (fields[RESIDENT_PAGES] ?? 0) * PAGE_BYTES;
    const children = unlessGone(() => readFileSync(`/proc/${next}/task/${next}/children`, 'utf8'));
    waiting.push(
      ...children.flatMap((list) =>
        list
          .split(' ')
          .filter((word) => word !== '')
          .map(Number),
      ),
    );
  }
  return { pid, kind, processes, cpuSeconds, memoryBytes };
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
