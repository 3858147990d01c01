/**
 * Loaded before everything else in a server and in all its threads: counts what they do to the disk from the moment at
 * which there is a plan, and at the operation that the plan names the process dies or the operation fails.
 */
import fs from 'node:fs';
import { syncBuiltinESMExports } from 'node:module';
import { constants as systemConstants } from 'node:os';
import { threadId } from 'node:worker_threads';
import koffi from 'koffi';
import {
  canStrike,
  donePath,
  FAULTS,
  planPath,
  RECORD_LENGTH,
  type FaultMode,
  type FaultPlan,
} from './fault-plan.js';

type Call = (this: unknown, ...given: unknown[]) => unknown;

const { closeSync, openSync, readFileSync, readlinkSync, renameSync, statSync, writeSync } = fs;
const folder = process.env[FAULTS] ?? '';
const STANDARD_ERROR = 2;
const WRITES =
  fs.constants.O_WRONLY |
  fs.constants.O_RDWR |
  fs.constants.O_CREAT |
  fs.constants.O_TRUNC |
  fs.constants.O_APPEND;

const OF_PATHS = [
  'chmodSync',
  'copyFileSync',
  'linkSync',
  'lutimesSync',
  'mkdirSync',
  'renameSync',
  'rmdirSync',
  'symlinkSync',
  'truncateSync',
  'unlinkSync',
  'utimesSync',
  'writeFileSync',
];
const OF_DESCRIPTORS = [
  'fchmodSync',
  'fdatasyncSync',
  'fsyncSync',
  'ftruncateSync',
  'futimesSync',
  'writeSync',
  'writevSync',
];
const NATIVE = ['fallocate', 'syncfs'];

/** Each thread appends with a descriptor of its own, whose position is then the end of its own record. */
let told: { readonly run: string; readonly fd: number } | undefined;

function currentPlan(): FaultPlan | undefined {
  const path = planPath(folder);
  if (statSync(path, { throwIfNoEntry: false }) === undefined) return undefined;
  try {
    return JSON.parse(readFileSync(path, 'utf8')) as FaultPlan;
  } catch {
    // It was dropped just now.
    return undefined;
  }
}

/** Decides whether this operation is done, fails, or kills the process. */
function fateOf(kind: FaultPlan['of'], operation: string, subject: string): FaultMode | undefined {
  const plan = currentPlan();
  if (plan?.of !== kind || subject.startsWith('/proc/')) return undefined;
  if (told?.run !== plan.run) {
    if (told !== undefined) closeSync(told.fd);
    told = { run: plan.run, fd: openSync(donePath(folder, plan.run), 'a') };
  }
  const inProject = subject.replaceAll(/\S*\/projects\/([0-9a-f-]{36}\/)?/g, '');
  const bytes = Buffer.from(`${operation} ${inProject} (thread ${threadId})`.padEnd(RECORD_LENGTH));
  writeSync(told.fd, bytes.subarray(0, RECORD_LENGTH));
  hold(plan, subject);
  const end = Number(/^pos:\s*(\d+)/m.exec(readFileSync(`/proc/self/fdinfo/${told.fd}`, 'utf8'))?.[1]);
  return end / RECORD_LENGTH === plan.at && canStrike(folder, plan.run, renameSync) ? plan.mode : undefined;
}

/** Waits in the very thread. */
function hold(plan: FaultPlan, subject: string): void {
  if (plan.holds === undefined || !subject.includes(plan.holds)) return;
  const never = new Int32Array(new SharedArrayBuffer(Int32Array.BYTES_PER_ELEMENT));
  while (currentPlan()?.run === plan.run) Atomics.wait(never, 0, 0, 10);
}

function perform<Result>(
  operation: string,
  fate: FaultMode | undefined,
  act: () => Result,
  fail: (code: 'EIO' | 'ENOSPC') => Result,
): Result {
  if (fate === 'before') die();
  if (fate === 'EIO' || fate === 'ENOSPC') {
    writeSync(STANDARD_ERROR, `${operation} fails: ${fate}\n`);
    return fail(fate);
  }
  try {
    return act();
  } finally {
    if (fate === 'after') die();
  }
}

function die(): never {
  process.kill(process.pid, 'SIGKILL');
  for (;;);
}

function systemError(code: 'EIO' | 'ENOSPC', operation: string): Error {
  const words = { EIO: 'i/o error', ENOSPC: 'no space left on device' }[code];
  const syscall = operation.replace(/Sync$/, '');
  const errno = -systemConstants.errno[code];
  return Object.assign(new Error(`${code}: ${words}, ${syscall}`), { code, errno, syscall });
}

/** Replaces a function by one that may fail; `isCounted` looks at what it is given. */
function wrap(
  kind: FaultPlan['of'],
  name: string,
  subjectOf: (given: readonly unknown[]) => string,
  isCounted: (given: readonly unknown[]) => boolean = () => true,
): void {
  const calls = fs as unknown as Record<string, Call>;
  const original = calls[name];
  if (original === undefined) throw new Error(`there is no ${name}`);
  calls[name] = function (...given) {
    const act = (): unknown => original.apply(this, given);
    if (!isCounted(given)) return act();
    return perform(name, fateOf(kind, name, subjectOf(given)), act, (code) => {
      throw systemError(code, name);
    });
  };
}

function pathOf([path]: readonly unknown[]): string {
  return String(path);
}

function pathsOf([first, second]: readonly unknown[]): string {
  return typeof second === 'string' && second.startsWith('/')
    ? `${pathOf([first])} ${second}`
    : pathOf([first]);
}

function openPathOf([fd]: readonly unknown[]): string {
  try {
    return readlinkSync(`/proc/self/fd/${Number(fd)}`);
  } catch {
    return `descriptor ${Number(fd)}`;
  }
}

function opensForWriting([, flags]: readonly unknown[]): boolean {
  if (typeof flags === 'string') return /[wa+]/.test(flags);
  return typeof flags === 'number' && (flags & WRITES) !== 0;
}

function isObject(path: string): boolean {
  return path.includes('/snapshots/content/');
}

/** Functions of the C library that the server calls by itself. */
function wrapNative(): void {
  const { load } = koffi;
  koffi.load = (...given) => {
    const library = load(...given);
    const make = library.func.bind(library) as Call;
    const func = (...definition: unknown[]): unknown => {
      const made = make(...definition) as Call;
      const name = NATIVE.find((known) => String(definition[0]).includes(` ${known}(`));
      if (name === undefined) return made;
      return (...values: unknown[]): unknown =>
        perform(
          name,
          fateOf('changes', name, openPathOf(values)),
          () => made(...values),
          (code) => {
            koffi.errno(systemConstants.errno[code]);
            return -1;
          },
        );
    };
    return new Proxy(library, {
      get: (target, key) => {
        if (key === 'func') return func;
        const value: unknown = Reflect.get(target, key);
        return typeof value === 'function' ? (value as Call).bind(target) : value;
      },
    });
  };
}

if (folder !== '') {
  for (const name of OF_PATHS) wrap('changes', name, pathsOf);
  for (const name of OF_DESCRIPTORS) {
    wrap('changes', name, openPathOf, ([fd]) => Number(fd) > STANDARD_ERROR);
  }
  wrap('reads', 'readSync', openPathOf, (given) => isObject(openPathOf(given)));
  wrap('changes', 'openSync', pathOf, opensForWriting);
  wrapNative();
  syncBuiltinESMExports();
}
