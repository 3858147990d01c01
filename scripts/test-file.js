/** Runs test files as processes, and judges how each file ended. */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { byFile, reading } from './test-output.js';

/** A file whose time is over says itself which test hangs; one that cannot is ended this much later. */
const LAST_WORDS_S = 10;
/** How a process ends when a test in it has failed. */
const FAILED_TESTS = 'exit code 1';
/** A program that a test left behind may hold its output open. */
const OUTPUT_AFTER_END_MS = 2000;
const BATCH = fileURLToPath(new URL('test-batch.js', import.meta.url));

/** The kernel counts processor time in hundredths of a second. */
const TICK_MS = 10;
/** The index of the first of the two fields about ended children, counted behind the name, which may contain blanks. */
const ENDED_USER_TIME = 14;

const running = new Set();

/** Ends the process and all that it started and did not put in a group of its own. */
function killGroup(pid) {
  try {
    process.kill(-pid, 'SIGKILL');
  } catch {
    // It is gone.
  }
}

/** The processor time of all children that have ended, and of theirs; 0 where the system does not tell. */
export function endedCpuMs() {
  if (process.platform !== 'linux') return 0;
  const stat = readFileSync('/proc/self/stat', 'utf8');
  const fields = stat.slice(stat.lastIndexOf(')')).split(' ');
  return (Number(fields[ENDED_USER_TIME]) + Number(fields[ENDED_USER_TIME + 1])) * TICK_MS;
}

let toldCpuMs = 0;

/** The processor time of the children that have ended since the last call: of one, when it is called at each end. */
function newlyEndedCpuMs() {
  const before = toldCpuMs;
  toldCpuMs = endedCpuMs();
  return toldCpuMs - before;
}

export function killAll() {
  for (const pid of running) killGroup(pid);
}

/**
 * Runs the files one after the other in one process, or one alone in its own; hands over each result. The file in whose
 * time the process ended has failed, and those behind it get a process of their own.
 */
export async function runFiles(files, job, limitS, done) {
  if (files.length === 1) {
    done(await runFile(files[0], job, limitS));
    return;
  }
  const { stdout, stderr, problem, ms, cpuMs } = await runProcess([BATCH, ...files], job, limitS);
  // One process had it: each file is told a part of it, after its time.
  const told = byFile(stdout, files).map((each) => ({ ...each, stderr, cpuMs: (cpuMs * each.ms) / ms }));
  const isExplained =
    problem === FAILED_TESTS && told.length === files.length && told.some((each) => !judged(each).ok);
  for (const each of told.slice(0, -1)) done(judged(each));
  done(judged(told.at(-1), isExplained ? undefined : problem));
  const left = files.slice(told.length);
  if (left.length > 0) await runFiles(left, job, limitS, done);
}

/**
 * Resolves with `{ file, ok, problem, skipReason, ms, cpuMs, stdout, stderr }`. `job` is one of those that run at this time:
 * files with different ones use different ports.
 */
export async function runFile(file, job, limitS) {
  const { problem, ...told } = await runProcess([file], job, limitS);
  return judged({ file, ...told }, problem);
}

/** Adds whether the file passed; `ended` says how its process ended when that was not well. */
function judged(told, ended) {
  const { problem: failure, skipReason } = reading(told.stdout);
  const problem = ended === FAILED_TESTS ? (failure ?? ended) : (ended ?? failure);
  return problem === undefined ? { ...told, ok: true, skipReason } : { ...told, ok: false, problem };
}

/** Resolves with what the process wrote, how long it ran, and its problem: how it ended when that was not well. */
async function runProcess(args, job, limitS) {
  const begun = performance.now();
  const child = spawn(process.execPath, args, {
    detached: true,
    stdio: ['ignore', 'pipe', 'pipe'],
    env: {
      ...process.env,
      TAP: '1',
      TAP_CHILD_ID: '1',
      TAP_JOB_ID: String(job),
      TAP_TIMEOUT: String(limitS),
    },
  });
  running.add(child.pid);
  const stdout = collect(child.stdout);
  const stderr = collect(child.stderr);
  let isLate = false;
  const limit = setTimeout(
    () => {
      isLate = true;
      killGroup(child.pid);
    },
    (limitS + LAST_WORDS_S) * 1000,
  );
  const closed = once(child, 'close');
  const [code, signal] = await once(child, 'exit');
  const cpuMs = newlyEndedCpuMs();
  clearTimeout(limit);
  killGroup(child.pid);
  running.delete(child.pid);
  const leftOpen = setTimeout(() => {
    child.stdout.destroy();
    child.stderr.destroy();
  }, OUTPUT_AFTER_END_MS);
  await closed;
  clearTimeout(leftOpen);

  const told = { ms: performance.now() - begun, cpuMs, stdout: stdout(), stderr: stderr() };
  if (isLate) return { ...told, problem: `it did not end within ${limitS} s` };
  if (signal !== null) return { ...told, problem: `it was ended by ${signal}` };
  return code === 0 ? told : { ...told, problem: `exit code ${code}` };
}

function collect(stream) {
  const pieces = [];
  stream.on('data', (bytes) => pieces.push(bytes));
  return () => Buffer.concat(pieces).toString();
}
