/** Thread entry: a loop that writes uploads, from its start to its end. */
import { workerData } from 'node:worker_threads';
import { runTransfers } from '../src/files/transfer/transfer-loop.js';
import type { TransferStart } from '../src/files/transfer/transfer-orders.js';
import { nameThread } from '../src/base/threads/thread-work.js';

nameThread('transfer');

runTransfers(workerData as TransferStart);
