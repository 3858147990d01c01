/** The endless task of a thread that writes uploads. */
import type { LoopStart } from '../../base/threads/worker-loop.js';
import { runLoop } from '../../base/threads/loop-task.js';
import { TransferLoop } from './transfer-loop.js';
import type { TransferParts } from './transfer-orders.js';

export function runTransfers(start: LoopStart & TransferParts): Promise<void> {
  const loop = new TransferLoop(start, (report) => {
    start.orders.postMessage({ kind: 'report', report });
  });
  return runLoop(start, loop);
}
