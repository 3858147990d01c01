/** The thread of one life of an engine. It is made for that life and ends with it. */
import { Worker } from 'node:worker_threads';
import type { RunTask } from './engine-run.js';

export function engineThread(worker: URL): RunTask {
  return (start, move, signal) =>
    new Promise((resolve, reject) => {
      const thread = new Worker(worker, {
        workerData: start,
        transferList: [...move],
        // One thread closes descriptors that another opened, so the end of a thread must close none by its number.
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
      // Comes when the thread has been joined: one that is ended in a system call first comes back from it.
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
