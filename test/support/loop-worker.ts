/** Thread entry for tests of loops: one that answers, tells of what it does, hangs, or ends its thread. */
import { getPriority } from 'node:os';
import { threadId, workerData } from 'node:worker_threads';
import { Refusal } from '../../src/base/errors/errors.js';
import type { LoopMessage, LoopStart } from '../../src/base/threads/loop-run.js';
import { runLoop } from '../../src/base/threads/loop-task.js';
import type { TaskTable } from '../../src/base/threads/task.js';

export interface TestParts {
  /** Every life of the worker sends this. */
  readonly greeting: string;
}

export type TestReport = { readonly greeting: string } | { readonly done: unknown } | 'finished';

export interface DieInput {
  /** How many have died of it. */
  readonly deaths: Int32Array<SharedArrayBuffer>;
  readonly most: number;
}

const { greeting, ...start } = workerData as TestParts & LoopStart;
const tell = (report: TestReport): void => {
  const message: LoopMessage<TestReport> = { kind: 'report', report };
  start.orders.postMessage(message);
};
const tasks = {
  echo: (value: unknown): unknown => {
    tell({ done: value });
    return value;
  },
  refuse: (status: number): never => {
    throw new Refusal(status, 'refused', `refused with ${status}`);
  },
  thread: (): number => threadId,
  priority: (): number => getPriority(),
  /** Ends the thread until it has done so often enough; then says how often. */
  die: ({ deaths, most }: DieInput): number => {
    if (Atomics.load(deaths, 0) === most) return most;
    Atomics.add(deaths, 0, 1);
    process.exit(3);
  },
  /** Raises the word, and waits without work until it is raised again, as for a disk. */
  stall: (word: Int32Array<SharedArrayBuffer>): void => {
    Atomics.add(word, 0, 1);
    Atomics.wait(word, 0, 1);
  },
  /** Raises the word, and never comes back. */
  spin: (word: Int32Array<SharedArrayBuffer>): never => {
    Atomics.add(word, 0, 1);
    for (;;);
  },
} satisfies TaskTable;
tell({ greeting });
runLoop(start, {
  tasks,
  round: () => Infinity,
  finish: () => {
    tell('finished');
  },
});
