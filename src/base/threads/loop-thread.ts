/** Runs each life of a loop in a new thread. */
import { Worker } from 'node:worker_threads';
import type { RunLoop } from './loop-run.js';

/** The worker runs one loop, from its start in `workerData` to its end. */
export function loopThread(worker: URL): RunLoop<unknown> {
  return (start, move, signal) =>
    new Promise((resolve, reject) => {
      const thread = new Worker(worker, {
        workerData: start,
        transferList: [...move],
        // One thread closes descriptors that another has opened, so Node.js must not close any when a thread ends.
        trackUnmanagedFds: false,
      });
      let failure: unknown;
      const end = (): void => {
        failure = new Error('its thread was ended');
        void thread.terminate();
      };
      signal.addEventListener('abort', end);
      thread.once('error', (error) => {
        failure ??= error;
      });
      // Emitted when the thread has been joined: a thread that is ended during a system call first returns from it.
      thread.once('exit', (code) => {
        signal.removeEventListener('abort', end);
        if (failure === undefined && code === 0) resolve();
        else reject(toError(failure ?? `its thread exited with code ${code}`));
      });
    });
}

function toError(reason: unknown): Error {
  return reason instanceof Error ? reason : new Error(String(reason));
}
