/** Keepers of a test's own, on folders of its own, with marks of their own. */
import { spawn, type ChildProcess } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { createInterface, type Interface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { pino } from 'pino';
import { Keeper, type Program, type ProgramOrder } from '../../../src/run/keeper/keeper.js';
import { eventually } from '../../support/eventually.js';
import { scratchFolder, type Teardown } from '../../support/scratch.js';

const SERVER = fileURLToPath(new URL('./keeper-server.js', import.meta.url));
export interface Rig {
  readonly folder: string;
  readonly mark: string;
  /** The ids of each call of `onLost`. */
  readonly lost: (readonly string[])[];
  newKeeper(graceSeconds?: number, mark?: string): Keeper;
}

export function newRig(t: Teardown, below = 'run'): Rig {
  const folder = join(scratchFolder(t), below);
  const mark = randomUUID();
  const lost: (readonly string[])[] = [];
  const keepers: Keeper[] = [];
  // A test that waits for a program has nothing else that keeps it running.
  const awake = setInterval(() => undefined, 60_000);
  t.teardown(async () => {
    for (const keeper of keepers) await keeper.close();
    for (const pid of processesOf(mark)) process.kill(pid, 'SIGKILL');
    clearInterval(awake);
  });
  return {
    folder,
    mark,
    lost,
    newKeeper: (graceSeconds = 0, other = mark) => {
      const log = pino({ level: 'silent' });
      const onLost = (ids: readonly string[]): void => void lost.push(ids);
      const keeper = new Keeper({ folder, mark: other, graceSeconds, log, onLost });
      keepers.push(keeper);
      return keeper;
    },
  };
}

/** A program that the shell runs. */
export function shell(id: string, script: string, changes: Partial<ProgramOrder> = {}): ProgramOrder {
  return {
    id,
    command: 'sh',
    args: ['-c', script],
    folder: '/tmp',
    environment: { PATH: '/usr/sbin:/usr/bin:/sbin:/bin' },
    niceness: 0,
    console: 'terminal',
    memo: null,
    ...changes,
  };
}

export function textOf(program: Program): string {
  return Buffer.from(program.output).toString();
}

/** Resolves with all output as soon as this is part of it. */
export async function printed(program: Program, part: string): Promise<string> {
  return eventually(`${program.id} prints ${part}`, () => {
    const text = textOf(program);
    return text.includes(part) ? text : undefined;
  });
}

/** All processes that have the mark in their environment or in their arguments: programs, and their keeper. */
export function processesOf(mark: string): number[] {
  return readdirSync('/proc')
    .map(Number)
    .filter((pid) => Number.isInteger(pid) && pid !== process.pid)
    .filter((pid) => ['environ', 'cmdline'].some((name) => contentOf(pid, name).includes(mark)));
}

export async function nothingLeft(mark: string): Promise<void> {
  await eventually('nothing of the mark is left', () => processesOf(mark).length === 0 || undefined);
}

export function keeperOf(mark: string): number | undefined {
  return processesOf(mark).find((pid) => contentOf(pid, 'cmdline').includes('keeper-worker.js'));
}

export function contentOf(pid: number, name: string): string {
  try {
    return readFileSync(`/proc/${pid}/${name}`, 'utf8');
  } catch {
    return '';
  }
}

export interface KeeperServer {
  readonly child: ChildProcess;
  readonly lines: Interface;
}

/** A process with a Keeper, which starts so many programs that are called 0, 1, 2. It prints a line for each step. */
export function startServer(
  t: Teardown,
  { folder, mark }: Rig,
  graceSeconds: number,
  programs: number,
  atEnd: 'stay' | 'leave' = 'stay',
): KeeperServer {
  // The mark is not among the arguments, by which processes of the keeper are found.
  const child = spawn(process.execPath, [SERVER, folder, String(graceSeconds), String(programs), atEnd], {
    stdio: ['pipe', 'pipe', 'inherit'],
  });
  child.stdin.end(`${mark}\n`);
  t.teardown(() => child.kill('SIGKILL'));
  return { child, lines: createInterface(child.stdout) };
}

/** Resolves when the process has printed this line. */
export async function said({ lines }: KeeperServer, line: string): Promise<void> {
  for await (const other of lines) if (other === line) return;
  throw new Error(`the server never said ${line}`);
}
