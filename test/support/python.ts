/** Scripts in Python, whose own libraries make archives as other programs do. */
import { spawnSync } from 'node:child_process';

const MOST_OUTPUT = 512 * 1024 * 1024;

/** Names the package of what is missing; false when nothing is. */
export function missingPython(): string | false {
  const isThere = spawnSync('python3', ['--version']).status === 0;
  return isThere ? false : 'the program python3 is missing: install the package python3';
}

/** Returns the standard output of the script. */
export function python(
  script: string,
  args: readonly string[] = [],
  input: Uint8Array = Buffer.alloc(0),
): Buffer {
  const { status, stdout, stderr } = spawnSync('python3', ['-c', script, ...args], {
    input,
    maxBuffer: MOST_OUTPUT,
  });
  if (status !== 0) throw new Error(`python3 (${status ?? 'killed'}): ${stderr.toString()}`);
  return stdout;
}
