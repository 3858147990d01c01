/** Where the slabs lie in their memory. */
import { Worker } from 'node:worker_threads';
import koffi from 'koffi';
import t from 'tap';
import {
  newSlabs,
  PAGE_LENGTH,
  SLAB_LENGTH,
  SLABS,
  slabView,
} from '../../../src/base/memory/transfer-memory.js';
import { slabBytes } from '../../../src/files/transfer/slabs.js';

const MODULE = new URL('../../../src/files/transfer/slabs.js', import.meta.url);

void t.test('every slab begins at a whole page, and the last one fits', (t) => {
  for (let count = 0; count < 3; count++) {
    const bytes = slabBytes(newSlabs());
    t.equal(bytes.length, SLABS * SLAB_LENGTH);
    for (const slab of [0, 1, SLABS - 1]) {
      const view = slabView(bytes, slab);
      t.equal(view.length, SLAB_LENGTH);
      t.equal(koffi.address(view) % BigInt(PAGE_LENGTH), 0n);
    }
  }
  t.end();
});

void t.test('every thread finds them at the same place', async (t) => {
  const memory = newSlabs();
  const worker = new Worker(
    `const { parentPort, workerData: { module, memory } } = require('node:worker_threads');
    import(module).then(({ slabBytes }) => {
      const bytes = slabBytes(memory);
      bytes[5] = 77;
      parentPort.postMessage(bytes.byteOffset);
    });`,
    { eval: true, workerData: { module: MODULE.href, memory } },
  );
  const found = await new Promise((resolve, reject) => {
    worker.once('message', resolve);
    worker.once('error', reject);
  });
  const bytes = slabBytes(memory);
  t.equal(found, bytes.byteOffset);
  t.equal(bytes[5], 77);
  await worker.terminate();
});
