/** The thread of a loop that writes uploads, and can be broken, in the ways of ./transfer-faults.ts. */
import { workerData } from 'node:worker_threads';
import { ContentWriter } from '../../src/files/transfer/content-writer.js';
import { runTransfers } from '../../src/files/transfer/transfer-loop.js';
import type { TransferStart } from '../../src/files/transfer/transfer-orders.js';
import { UnwrittenContent } from '../../src/files/transfer/unwritten-content.js';
import { TRANSFER_FAULT } from './transfer-faults.js';

type Take = ContentWriter['take'];
const take: unknown = Reflect.get(ContentWriter.prototype, 'take');

Reflect.set(
  ContentWriter.prototype,
  'take',
  function (this: ContentWriter, ...given: Parameters<Take>): boolean {
    const [bytes] = given;
    const beginning = Buffer.from(bytes.slice(0, TRANSFER_FAULT.exit.length)).toString();
    if (beginning === TRANSFER_FAULT.spin) for (;;);
    if (beginning === TRANSFER_FAULT.exit) process.exit(3);
    return (take as Take).call(this, ...given);
  },
);

const digest: unknown = Reflect.get(UnwrittenContent.prototype, 'take');

Reflect.set(
  UnwrittenContent.prototype,
  'take',
  function (this: UnwrittenContent, ...given: Parameters<Take>): boolean {
    const [bytes] = given;
    const beginning = Buffer.from(bytes.slice(0, TRANSFER_FAULT.exitBeside.length)).toString();
    if (beginning === TRANSFER_FAULT.exitBeside) process.exit(3);
    return (digest as Take).call(this, ...given);
  },
);

// As workers/transfer-worker.ts does, which is built as one bundle: the change of the class would not reach it.
runTransfers(workerData as TransferStart);
