/** Thread entry for tests of the pool: tasks that answer, fail in every way, wait, or end their thread. */
import { mkdirSync } from 'node:fs';
import { threadId } from 'node:worker_threads';
import { workerData } from 'piscina';
import { Refusal } from '../../src/base/errors/errors.js';
import {
  performTask,
  type TaskOutcome,
  type TaskRequest,
  type TaskTable,
} from '../../src/base/threads/task.js';

export interface TestTasks extends TaskTable {
  readonly echo: (value: unknown) => unknown;
  readonly refuse: (status: number) => void;
  readonly fail: (message: string) => void;
  readonly makeFolder: (path: string) => void;
  /** Waits until the word is no longer 0. */
  readonly wait: (word: Int32Array<SharedArrayBuffer>) => void;
  readonly length: (bytes: Uint8Array) => number;
  readonly data: (input: undefined) => unknown;
  readonly thread: (input: undefined) => number;
  readonly die: (input: undefined) => void;
}

const tasks: TestTasks = {
  echo: (value) => value,
  refuse(status) {
    throw new Refusal(status, 'refused', `refused with ${status}`);
  },
  fail(message) {
    throw new TypeError(message);
  },
  makeFolder(path) {
    mkdirSync(path);
  },
  wait(word) {
    Atomics.wait(word, 0, 0);
  },
  length: (bytes) => bytes.length,
  data: () => workerData as unknown,
  thread: () => threadId,
  die() {
    process.exit(3);
  },
};

export default function serve(request: TaskRequest): Promise<TaskOutcome> {
  return performTask(tasks, request);
}
