/** How late the event loop of a server is, as the server itself finds: see loop-delay-preload. */
import { existsSync, readFileSync, rmSync } from 'node:fs';
import { setTimeout } from 'node:timers/promises';

/** In milliseconds; an idle loop is 1.1 ms late. */
export interface Delay {
  readonly p50: number;
  readonly p99: number;
  readonly p999: number;
  readonly max: number;
}

const LOOK_EVERY_MS = 5;
const MOST_LOOKS = 2000;

/** With these options a server writes its delays to the file. */
export function delayOptions(file: string): string[] {
  const preload = new URL('./loop-delay-preload.js', import.meta.url);
  preload.searchParams.set('file', file);
  return ['--import', preload.href];
}

/** Nothing looks any more how late the loop is. */
export function endDelays(pid: number): void {
  process.kill(pid, 'SIGWINCH');
}

/** The delays since they were asked for last. */
export async function delaysSince(pid: number, file: string): Promise<Delay> {
  rmSync(file, { force: true });
  process.kill(pid, 'SIGUSR2');
  for (let looks = 0; looks < MOST_LOOKS; looks++) {
    if (existsSync(file)) return JSON.parse(readFileSync(file, 'utf8')) as Delay;
    await setTimeout(LOOK_EVERY_MS);
  }
  throw new Error('the server does not say how late it is');
}
