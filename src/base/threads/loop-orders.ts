/** What is said between the HTTP thread and an endless task. Everything survives a structured clone. */
import type { MessagePort } from 'node:worker_threads';
import type { TaskOutcome, TaskRequest } from './task.js';

/** Int32 words that both have. */
export const LOOP_CONTROL = {
  /** Goes up when there is something new; the loop waits on it. */
  bell: 0,
  /** Goes up with every round. */
  heartbeat: 1,
  /** Not 0: the loop is to end. */
  stop: 2,
  /** The number of its thread, 0 before it has begun or where the host does not tell. */
  thread: 3,
} as const;
export const LOOP_CONTROL_WORDS = 4;

export interface LoopStart {
  readonly control: SharedArrayBuffer;
  /** Orders come in here, answers and reports leave. */
  readonly orders: MessagePort;
}

export interface LoopOrder {
  readonly number: number;
  readonly request: TaskRequest;
}

export type LoopMessage<Report> =
  | { readonly kind: 'answer'; readonly number: number; readonly outcome: TaskOutcome }
  | { readonly kind: 'report'; readonly report: Report };
