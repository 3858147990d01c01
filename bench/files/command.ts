/** Programs of the system that a bench needs: they end by themselves, and in bounded time. */
import { execFile } from 'node:child_process';
import { promisify } from 'node:util';

const LIMIT_MS = 15 * 60_000;

const execute = promisify(execFile);

/** Returns what the program prints; fails when it does. */
export async function command(program: string, args: readonly string[]): Promise<string> {
  const { stdout } = await execute(program, [...args], { timeout: LIMIT_MS });
  return stdout;
}

/** The disk has the file. */
export async function syncFile(path: string): Promise<void> {
  await command('sync', [path]);
}

/** Nothing of the file system that the folder is on waits for the disk any more. */
export async function syncFileSystem(folder: string): Promise<void> {
  await command('sync', ['-f', folder]);
}

export async function sha256Of(path: string): Promise<string> {
  return (await command('sha256sum', [path])).slice(0, 64);
}
