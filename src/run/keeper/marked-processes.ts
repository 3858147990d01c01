/**
 * Finds processes by the mark in their environment, which the children of a program inherit: what has left its
 * group, or outlived a keeper. A confined one may have another environment: it is found by the mark of its mounts. There
 * are no files of process ids, since the ids are used again.
 */
import { readdir, readFile, stat } from 'node:fs/promises';
import { setTimeout as sleep } from 'node:timers/promises';
import { confinedLabel, FIRST_PROGRAM_USER, LAST_PROGRAM_USER, MARK_VARIABLE } from './messages.js';

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
  const label = ` ${confinedLabel(mark, '')}`;
  const found: MarkedProcess[] = [];
  for (const name of await readdir('/proc')) {
    const pid = Number(name);
    if (!Number.isInteger(pid)) continue;
    const id =
      idIn(`\0${await contentOf(pid, 'environ')}`, beginning, '\0') ??
      ((await isConfined(pid)) ? idIn(await contentOf(pid, 'mountinfo'), label, ' ') : undefined);
    if (id !== undefined) found.push({ pid, id });
  }
  return found;
}

/** The text between the beginning and the next end. */
function idIn(text: string, beginning: string, end: string): string | undefined {
  const at = text.indexOf(beginning);
  return at < 0 ? undefined : text.slice(at + beginning.length).split(end, 1)[0];
}

async function isConfined(pid: number): Promise<boolean> {
  try {
    const { uid } = await stat(`/proc/${pid}`);
    return uid >= FIRST_PROGRAM_USER && uid <= LAST_PROGRAM_USER;
  } catch {
    return false;
  }
}

/** Empty when the process has gone or is not ours. */
async function contentOf(pid: number, name: string): Promise<string> {
  try {
    return await readFile(`/proc/${pid}/${name}`, 'utf8');
  } catch {
    return '';
  }
}
