/** The thread's side of a worker loop: carries out orders and makes rounds until it is told to stop. */
import { receiveMessageOnPort, type MessagePort } from 'node:worker_threads';
import { LOOP_CONTROL, type LoopMessage, type LoopOrder, type LoopStart } from './loop-run.js';
import { callTask, failureOf, type TaskOutcome, type TaskRequest, type TaskTable } from './task.js';
import { goAfterOthers } from './thread-priority.js';
import { ownThread } from './thread-work.js';

export interface LoopWork {
  /** None of them returns a promise, because the thread has no event loop between its rounds. */
  readonly tasks: TaskTable;
  /** Does some of the waiting work; returns how many milliseconds the next round may wait for the bell. */
  round(now: number): number;
  /** Called after the last round: the loop was told to stop, or a round failed. */
  finish(now: number): void;
}

/** Rounds wait while orders are carried out, so only so many are at a time. */
const ORDERS_A_ROUND = 16;

/** Returns when the loop was told to stop; throws what a round or the end failed with. */
export function runLoop({ control, orders }: LoopStart, work: LoopWork): void {
  goAfterOthers();
  const words = new Int32Array(control);
  Atomics.store(words, LOOP_CONTROL.thread, ownThread());
  const perform = (request: TaskRequest): unknown => callTask(work.tasks, request);
  try {
    while (Atomics.load(words, LOOP_CONTROL.stop) === 0) {
      Atomics.add(words, LOOP_CONTROL.heartbeat, 1);
      // Read before the orders are: the wait below returns at once if the bell rings after that.
      const rung = Atomics.load(words, LOOP_CONTROL.bell);
      const isObeyed = obeySome(orders, perform);
      const waitMs = work.round(performance.now());
      if (isObeyed && waitMs > 0) Atomics.wait(words, LOOP_CONTROL.bell, rung, waitMs);
    }
  } finally {
    try {
      work.finish(performance.now());
    } finally {
      orders.close();
    }
  }
}

/** Carries out some of the waiting orders; returns true when none is left. Those with a promise are answered later. */
export function obeySome(orders: MessagePort, perform: (request: TaskRequest) => unknown): boolean {
  for (let done = 0; done < ORDERS_A_ROUND; done++) {
    const received: { message: LoopOrder } | undefined = receiveMessageOnPort(orders);
    if (received === undefined) return true;
    obey(orders, received.message, perform);
  }
  return false;
}

function obey(
  orders: MessagePort,
  { number, request }: LoopOrder,
  perform: (request: TaskRequest) => unknown,
): void {
  const answer = (outcome: TaskOutcome): void => {
    const message: LoopMessage<never> = { kind: 'answer', number, outcome };
    orders.postMessage(message);
  };
  const fail = (error: unknown): void => {
    answer({ failure: failureOf(error) });
  };
  try {
    const value = perform(request);
    if (value instanceof Promise) {
      value.then((result: unknown) => {
        answer({ value: result });
      }, fail);
    } else answer({ value });
  } catch (error) {
    fail(error);
  }
}
