/** The endless task of a writer's thread. */
import type { LoopMessage } from '../../base/threads/worker-loop.js';
import { runLoop } from '../../base/threads/loop-task.js';
import { WriterLoop } from './writer-loop.js';
import type { WriterReport, WriterStart } from './writer-orders.js';

export function runWriter({ memories, floorOctets, ...start }: WriterStart): Promise<void> {
  const tell = (report: WriterReport): void => {
    const message: LoopMessage<WriterReport> = { kind: 'report', report };
    start.orders.postMessage(message);
  };
  return runLoop(start, new WriterLoop(memories, floorOctets, tell));
}
