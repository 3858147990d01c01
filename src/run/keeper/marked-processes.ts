/**
 * Finds processes by the mark in their environment, which the children of a program inherit: what has left its
 * group, or outlived a keeper. There are no files of process ids, since the ids are used again.
 */
import { readdir, readFile } from 'node:fs/promises';
import { setTimeout as sleep } from 'node:timers/promises';
import { MARK_VARIABLE } from './messages.js';

const LOOKS = 200;
const BETWEEN_MS = 10;

/** Kills all processes of the mark whose id is not among the kept, and waits until they have gone. */
export async function endMarked(mark: string, isKept: (id: string) => boolean): Promise<void> {
  for (let look = 0; look < LOOKS; look++) {
    let found = 0;
    for (const { pid, id } of await findMarked(mark)) {
      if (isKept(id)) continue;
      found++;
      try {
        process.kill(pid, 'SIGKILL');
      } catch {
        // It has gone, or another user's process has taken over the environment.
      }
    }
    if (found === 0) return;
    await sleep(BETWEEN_MS);
  }
}

interface MarkedProcess {
  readonly pid: number;
  readonly id: string;
}

async function findMarked(mark: string): Promise<MarkedProcess[]> {
  const beginning = `\0${MARK_VARIABLE}=${mark}/`;
  const found: MarkedProcess[] = [];
  for (const name of await readdir('/proc')) {
    const pid = Number(name);
    if (!Number.isInteger(pid)) continue;
    const environment = `\0${await environmentOf(pid)}`;
    const at = environment.indexOf(beginning);
    if (at < 0) continue;
    const [id = ''] = environment.slice(at + beginning.length).split('\0', 1);
    found.push({ pid, id });
  }
  return found;
}

/** Empty when the process has gone or is not ours. */
async function environmentOf(pid: number): Promise<string> {
  try {
    return await readFile(`/proc/${pid}/environ`, 'utf8');
  } catch {
    return '';
  }
}
