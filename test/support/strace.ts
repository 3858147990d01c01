/** Holds system calls of a process up, from outside. */
import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import type { Teardown } from './scratch.js';

/** Why a test is skipped; false when it is not. */
export const straceLack =
  spawnSync('strace', ['-V']).error === undefined ? false : 'it takes the program strace (package strace)';

/** Begins with these options; returns the end of it, which the test's end is at the latest. */
export async function strace(t: Teardown, options: readonly string[]): Promise<() => Promise<void>> {
  const child = spawn('strace', options, { stdio: ['ignore', 'ignore', 'pipe'] });
  const closed = once(child, 'close');
  t.teardown(() => child.kill('SIGKILL'));
  let said = '';
  await new Promise<void>((resolve, reject) => {
    child.stderr.on('data', (bytes: Buffer) => {
      said += bytes.toString();
      if (said.includes(' attached')) resolve();
    });
    child.on('close', () => {
      reject(new Error(`strace ended: ${said}`));
    });
  });
  return async () => {
    child.kill('SIGINT');
    await closed;
  };
}
