/** Runs one test file as a process of its own, and judges how it ended. */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { reading } from './test-output.js';

/** A file whose time is over says itself which test hangs; one that cannot is ended this much later. */
const LAST_WORDS_S = 10;
/** A program that a test left behind may hold its output open. */
const OUTPUT_AFTER_END_MS = 2000;

const running = new Set();

/** Ends the process and all that it started and did not put in a group of its own. */
function killGroup(pid) {
  try {
    process.kill(-pid, 'SIGKILL');
  } catch {
    // It is gone.
  }
}

export function killAll() {
  for (const pid of running) killGroup(pid);
}

/**
 * Resolves with `{ file, ok, problem, skipReason, ms, stdout, stderr }`. `job` is one of those that run at this time:
 * files with different ones use different ports.
 */
export async function runFile(file, job, limitS) {
  const begun = performance.now();
  const child = spawn(process.execPath, [file], {
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
  clearTimeout(limit);
  killGroup(child.pid);
  running.delete(child.pid);
  const leftOpen = setTimeout(() => {
    child.stdout.destroy();
    child.stderr.destroy();
  }, OUTPUT_AFTER_END_MS);
  await closed;
  clearTimeout(leftOpen);

  const result = { file, ms: performance.now() - begun, stdout: stdout(), stderr: stderr() };
  const { problem: told, skipReason } = reading(result.stdout);
  let problem = told;
  if (isLate) problem = `it did not end within ${limitS} s`;
  else if (signal !== null) problem = `it was ended by ${signal}`;
  else if (code !== 0 && (problem === undefined || code !== 1)) problem = `exit code ${code}`;
  return problem === undefined ? { ...result, ok: true, skipReason } : { ...result, ok: false, problem };
}

function collect(stream) {
  const pieces = [];
  stream.on('data', (bytes) => pieces.push(bytes));
  return () => Buffer.concat(pieces).toString();
}
