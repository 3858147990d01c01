/**
 * Loaded into a server before its own code: how late its event loop is. On SIGUSR2 the delays since the last one are
 * written, as JSON in milliseconds, to the file that the query of this module's URL names. SIGWINCH ends it: looking costs
 * some CPU.
 */
import { renameSync, writeFileSync } from 'node:fs';
import { monitorEventLoopDelay } from 'node:perf_hooks';
import { isMainThread } from 'node:worker_threads';

const NANOSECONDS_A_MS = 1e6;

const file = new URL(import.meta.url).searchParams.get('file');

// Threads load it, too.
if (isMainThread && file !== null) {
  const delays = monitorEventLoopDelay({ resolution: 1 });
  delays.enable();
  process.on('SIGUSR2', () => {
    const delay = {
      p50: delays.percentile(50) / NANOSECONDS_A_MS,
      p99: delays.percentile(99) / NANOSECONDS_A_MS,
      p999: delays.percentile(99.9) / NANOSECONDS_A_MS,
      max: delays.max / NANOSECONDS_A_MS,
    };
    writeFileSync(`${file}.tmp`, JSON.stringify(delay));
    renameSync(`${file}.tmp`, file);
    delays.reset();
  });
  process.once('SIGWINCH', () => {
    delays.disable();
  });
}
