/** The endless task of a writer's thread: orders and rounds, until it is told to stop. */
import { setPriority } from 'node:os';
import { receiveMessageOnPort, type MessagePort } from 'node:worker_threads';
import { performTask } from '../pool/task.js';
import { WriterLoop } from './writer-loop.js';
import { WRITER_CONTROL, type WriterMessage, type WriterOrder, type WriterStart } from './writer-orders.js';

/** Logs fill while orders are carried out: a few at a time. */
const ORDERS_A_ROUND = 16;
/** How long a loop that has logs waits: less after a round in which one had much. */
const WAIT_MS = 20;
const SHORT_WAIT_MS = 4;
const MUCH = 64 * 1024;
/** Its next round begins at once when a log had so much. */
const VERY_MUCH = 1024 * 1024;
/** Engines go first. */
const NICE = 5;

export async function runWriter({ control, memories, orders, floorOctets }: WriterStart): Promise<void> {
  // On Linux this is of the calling thread, elsewhere of the whole process.
  if (process.platform === 'linux') setPriority(NICE);
  const words = new Int32Array(control);
  const tell = (message: WriterMessage): void => {
    orders.postMessage(message);
  };
  const loop = new WriterLoop(memories, floorOctets, tell);
  try {
    while (Atomics.load(words, WRITER_CONTROL.stop) === 0) {
      Atomics.add(words, WRITER_CONTROL.heartbeat, 1);
      // Before orders are looked for: who rings after that is not waited for.
      const rung = Atomics.load(words, WRITER_CONTROL.bell);
      const isObeyed = await obeySome(orders, loop, tell);
      const most = loop.round(performance.now());
      if (isObeyed) Atomics.wait(words, WRITER_CONTROL.bell, rung, waitMs(loop, most));
    }
  } finally {
    // The thread lives on, and may run the next loop.
    loop.finish(performance.now());
    orders.close();
  }
}

function waitMs(loop: WriterLoop, most: number): number {
  if (loop.isIdle) return Infinity;
  if (most >= VERY_MUCH) return 0;
  return most >= MUCH ? SHORT_WAIT_MS : WAIT_MS;
}

/** Carries out waiting orders; returns whether none is left. */
async function obeySome(
  orders: MessagePort,
  loop: WriterLoop,
  tell: (message: WriterMessage) => void,
): Promise<boolean> {
  for (let done = 0; done < ORDERS_A_ROUND; done++) {
    const received = receiveMessageOnPort(orders) as { message: WriterOrder } | undefined;
    if (received === undefined) return true;
    const { number, command } = received.message;
    tell({ kind: 'answer', number, outcome: await performTask(loop.tasks, command) });
  }
  return false;
}
