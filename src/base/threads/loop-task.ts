/** The thread's side of a worker loop: carries out orders and makes rounds until it is told to stop. */
import { receiveMessageOnPort, type MessagePort } from 'node:worker_threads';
import { LOOP_CONTROL, type LoopOrder, type LoopStart } from './worker-loop.js';
import { performTask, type TaskTable } from './task.js';
import { goAfterOthers } from './thread-priority.js';
import { ownThread } from './thread-work.js';

export interface LoopWork {
  readonly tasks: TaskTable;
  /** Does some of the waiting work; returns how many milliseconds the next round may wait for the bell. */
  round(now: number): number;
  /** Called after the last round: the loop was told to stop, or a round failed. */
  finish(now: number): void;
}

/** Rounds wait while orders are carried out, so only so many are at a time. */
const ORDERS_A_ROUND = 16;

export async function runLoop({ control, orders }: LoopStart, work: LoopWork): Promise<void> {
  goAfterOthers();
  const words = new Int32Array(control);
  Atomics.store(words, LOOP_CONTROL.thread, ownThread());
  try {
    while (Atomics.load(words, LOOP_CONTROL.stop) === 0) {
      Atomics.add(words, LOOP_CONTROL.heartbeat, 1);
      // Read before the orders are: the wait below returns at once if the bell rings after that.
      const rung = Atomics.load(words, LOOP_CONTROL.bell);
      const isObeyed = await obeySome(orders, work.tasks);
      const waitMs = work.round(performance.now());
      if (isObeyed && waitMs > 0) Atomics.wait(words, LOOP_CONTROL.bell, rung, waitMs);
    }
  } finally {
    try {
      work.finish(performance.now());
    } finally {
      // The thread lives on and may run another loop; the closed port tells the HTTP thread that this one has ended.
      orders.close();
    }
  }
}

/** Carries out waiting orders; returns true when none is left. */
async function obeySome(orders: MessagePort, tasks: TaskTable): Promise<boolean> {
  for (let done = 0; done < ORDERS_A_ROUND; done++) {
    const received = receiveMessageOnPort(orders) as { message: LoopOrder } | undefined;
    if (received === undefined) return true;
    const { number, request } = received.message;
    orders.postMessage({ kind: 'answer', number, outcome: await performTask(tasks, request) });
  }
  return false;
}
