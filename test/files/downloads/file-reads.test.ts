/** Reading for responses: from memory at once, else by a disk thread into a slab. */
import { closeSync, openSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import t from 'tap';
import { SLABS } from '../../../src/base/memory/transfer-memory.js';
import { FileReads } from '../../../src/files/downloads/file-reads.js';
import { dropFromMemory } from '../../support/cold-file.js';
import { LiveTransfers } from '../../support/live-transfers.js';
import { RandomBytes } from '../../support/random.js';
import { scratchFolder, type Teardown } from '../../support/scratch.js';

const BYTES = new RandomBytes(1).next(900_000);

function begin(t: Teardown): { live: LiveTransfers; reads: FileReads; fd: number } {
  const live = new LiveTransfers(t);
  const path = join(scratchFolder(t), 'file');
  writeFileSync(path, BYTES);
  const fd = openSync(path, 'r');
  t.teardown(() => {
    closeSync(fd);
  });
  return { live, reads: new FileReads(live.slabs, live.disk), fd };
}

void t.test('a cold file is read by a disk thread, and is then in memory for all', async (t) => {
  const { live, reads, fd } = begin(t);
  const isKnown = reads.readNow(fd, 0, 100) !== undefined;
  const isCold = dropFromMemory(fd);
  if (isKnown && isCold) t.equal(reads.readNow(fd, 300_000, 1000), undefined, 'no disk is waited for');
  const piece = await reads.read(fd, 300_000, 100_000);
  t.ok(BYTES.subarray(300_000, 400_000).equals(piece.bytes));
  t.equal(live.slabs.taken, 1);
  piece.giveBack();
  t.equal(live.slabs.taken, 0);
  if (isKnown)
    t.ok(BYTES.subarray(300_000, 301_000).equals(reads.readNow(fd, 300_000, 1000) ?? new Uint8Array()));
});

void t.test('the end of the file is the end of what is read', async (t) => {
  const { live, reads, fd } = begin(t);
  const last = await reads.read(fd, BYTES.length - 10, 1000);
  t.ok(BYTES.subarray(-10).equals(last.bytes));
  const behind = await reads.read(fd, BYTES.length, 1000);
  t.equal(behind.bytes.length, 0);
  t.equal(reads.readNow(fd, BYTES.length, 1000), undefined);
  last.giveBack();
  behind.giveBack();
  t.equal(live.slabs.taken, 0);
});

void t.test('a read that fails keeps no slab', async (t) => {
  const { live, reads } = begin(t);
  await t.rejects(reads.read(-1, 0, 1000));
  t.equal(live.slabs.taken, 0);
});

void t.test('reads wait for a slab when all are taken', async (t) => {
  const { live, reads, fd } = begin(t);
  const taken = Array.from({ length: SLABS }, () => live.slabs.take() ?? 0);
  const waiting = Array.from({ length: 5 }, (_, index) => reads.read(fd, index, 7));
  for (const slab of taken) live.slabs.giveBack(slab);
  for (const [index, piece] of (await Promise.all(waiting)).entries()) {
    t.ok(BYTES.subarray(index, index + 7).equals(piece.bytes));
    piece.giveBack();
  }
  t.equal(live.slabs.taken, 0);
});
