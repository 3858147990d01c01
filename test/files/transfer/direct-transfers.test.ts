/** Uploads of one loop that the disk writes by itself, beside others that it does not. */
import { closeSync, openSync, readdirSync, readFileSync, readSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import t from 'tap';
import { PAGE_LENGTH, SLAB_LENGTH } from '../../../src/base/memory/transfer-memory.js';
import type { UnpublishedFile } from '../../../src/base/disk/published-file.js';
import { PageCache } from '../../../src/files/downloads/file-reads.js';
import { hasDirectWrites, NO_DIRECT, NO_RAMFS, plainDisk } from '../../support/direct-disk.js';
import { HeldDisk } from '../../support/held-disk.js';
import { Random, RandomBytes } from '../../support/random.js';
import { scratchFolder } from '../../support/scratch.js';
import { NO_MOUNT, smallDisk } from '../../support/small-disk.js';
import { TransferLoopRig, writtenOctets } from '../../support/transfer-loop-rig.js';
import { hashOf } from '../../support/upload-rig.js';

const MEBIBYTE = 1024 * 1024;
const skip = hasDirectWrites(scratchFolder(t)) ? false : NO_DIRECT;

const descriptors = (): number => readdirSync('/dev/fd').length;

function contentAt(path: string, start: number, length: number): Buffer {
  const fd = openSync(path, 'r');
  const bytes = Buffer.alloc(length);
  readSync(fd, bytes, 0, length, start);
  closeSync(fd);
  return bytes;
}

/** Whether the system has the page in memory. */
function isInMemory(path: string, position: number): boolean {
  const fd = openSync(path, 'r');
  const found = new PageCache().read(fd, position, 1);
  closeSync(fd);
  return found !== undefined;
}

/** Finishes the stream, which has exactly this content. */
function isWhole(rig: TransferLoopRig, stream: number, file: UnpublishedFile, content: Buffer): boolean {
  const { content: written } = rig.loop.tasks.finish({ stream });
  const found = readFileSync(file.temporary);
  closeSync(file.fd);
  return (
    written.size === content.length &&
    written.digests['sha-256'] === hashOf('sha-256', content) &&
    found.equals(content)
  );
}

const SIZES = [
  MEBIBYTE - 1,
  MEBIBYTE,
  MEBIBYTE + 1,
  MEBIBYTE + PAGE_LENGTH,
  MEBIBYTE + SLAB_LENGTH - 1,
  MEBIBYTE + SLAB_LENGTH + 1,
  2 * MEBIBYTE + 512,
  3 * MEBIBYTE + 12_345,
];

void t.test('a file of any size is what was sent, and most of it is not copied', { skip }, (t) => {
  const rig = new TransferLoopRig(t);
  for (const [stream, size] of SIZES.entries()) {
    const content = new RandomBytes(stream).next(size);
    const before = writtenOctets();
    const file = rig.begin(stream, `${stream}`, { size });
    rig.send(stream, content);
    rig.work();
    t.ok(isWhole(rig, stream, file, content), `${size} octets`);
    const copied = writtenOctets() - before;
    if (size >= MEBIBYTE) t.ok(copied < 2 * SLAB_LENGTH, `${copied} of them were copied`);
    else t.ok(copied >= size);
  }
  t.equal(rig.out, 0);
  t.end();
});

void t.test('where nothing can be written so, files are the same', { skip }, (t) => {
  const disks = { [NO_RAMFS]: plainDisk(t), [NO_MOUNT]: smallDisk(t, 20_000) };
  for (const [reason, root] of Object.entries(disks)) {
    if (root === undefined) {
      t.pass(`# SKIP ${reason}`);
      continue;
    }
    const rig = new TransferLoopRig(t, root);
    for (const [stream, size] of SIZES.entries()) {
      const content = new RandomBytes(stream).next(size);
      const file = rig.begin(stream, `${stream}`, { size });
      rig.send(stream, content);
      t.ok(isWhole(rig, stream, file, content), `${size} octets`);
    }
    const part = join(root, 'part');
    writeFileSync(part, '');
    const content = new RandomBytes(9).next(2 * MEBIBYTE);
    rig.append(1, part, 0, content.length);
    rig.send(1, content);
    rig.loop.tasks.finish({ stream: 1 });
    t.ok(readFileSync(part).equals(content));
    t.equal(rig.out, 0);
  }
  t.end();
});

void t.test('a slab comes back when its bytes are in the file, whoever else writes', { skip }, (t) => {
  const rig = new TransferLoopRig(t);
  const random = new Random(5);
  const contents = [5 * MEBIBYTE + 77, 3 * MEBIBYTE, 2 * MEBIBYTE + 1].map((size, stream) =>
    new RandomBytes(stream).next(size),
  );
  // The last one is of unknown size, and is copied.
  const files = contents.map(({ length }, stream) =>
    rig.begin(stream, `${stream}`, { size: stream === 2 ? undefined : length }),
  );
  const pieces: { readonly stream: number; readonly start: number; readonly bytes: Buffer }[] = [];
  const sent = contents.map(() => 0);
  let checked = 0;
  const check = (): void => {
    rig.takeBack();
    for (; checked < rig.back.length; checked++) {
      const piece = pieces[rig.back[checked]?.[1] ?? -1];
      const path = files[piece?.stream ?? -1]?.temporary ?? '';
      const found = contentAt(path, piece?.start ?? 0, piece?.bytes.length ?? 0);
      if (piece?.bytes.equals(found) !== true) t.fail(`slab ${checked} came back early`);
    }
  };
  for (;;) {
    const left = [...contents.keys()].filter(
      (stream) => (sent[stream] ?? 0) < (contents[stream]?.length ?? 0),
    );
    if (left.length === 0) break;
    const stream = random.pick(left);
    const [content, start] = [contents[stream] ?? Buffer.alloc(0), sent[stream] ?? 0];
    const length = PAGE_LENGTH * (1 + random.below(SLAB_LENGTH / PAGE_LENGTH));
    const bytes = content.subarray(start, start + length);
    pieces.push({ stream, start, bytes });
    rig.send(stream, bytes);
    sent[stream] = start + bytes.length;
    if (random.chance(0.3)) rig.loop.round(performance.now());
    if (random.chance(0.3)) check();
  }
  rig.work();
  check();
  t.equal(checked, pieces.length, 'every slab came back');
  for (const [stream, content] of contents.entries()) {
    const file = files[stream];
    t.ok(file !== undefined && isWhole(rig, stream, file, content));
  }
  t.end();
});

void t.test('while the disk writes, its slabs are kept and others come back', { skip }, (t) => {
  const rig = new TransferLoopRig(t);
  const disk = new HeldDisk(t);
  const content = new RandomBytes(1).next(MEBIBYTE);
  const file = rig.begin(1, 'a', { size: content.length });
  const other = rig.begin(2, 'b');
  rig.send(1, content);
  rig.send(2, content);
  disk.hold();
  for (let rounds = 0; rounds < 5; rounds++)
    t.equal(rig.loop.round(performance.now()), 0, 'it goes on asking');
  t.equal(rig.out, 4);
  t.ok(rig.back.every(([stream]) => stream === 2));
  disk.release();
  rig.work();
  t.equal(rig.out, 0);
  t.ok(isWhole(rig, 1, file, content));
  t.ok(isWhole(rig, 2, other, content));
  t.end();
});

void t.test(
  'a transfer that is dropped while the disk writes is waited for, and leaves nothing',
  { skip },
  (t) => {
    const ends: Record<string, (rig: TransferLoopRig) => void> = {
      dropped: (rig) => {
        rig.loop.tasks.drop({ stream: 1 });
      },
      'at the end of its loop': (rig) => {
        rig.loop.finish();
      },
    };
    const disk = new HeldDisk(t);
    for (const [name, end] of Object.entries(ends)) {
      const rig = new TransferLoopRig(t);
      const before = descriptors();
      rig.begin(1, 'a', { size: 4 * MEBIBYTE });
      rig.send(1, new RandomBytes(1).next(MEBIBYTE));
      disk.hold();
      rig.loop.round(performance.now());
      rig.send(1, new RandomBytes(2).next(MEBIBYTE));
      t.equal(disk.underWay, 4);
      t.equal(rig.out, 8);
      disk.release();
      end(rig);
      t.equal(disk.underWay, 0, name);
      t.equal(rig.out, 0, name);
      t.same(rig.unfinished, [], name);
      t.equal(descriptors(), before, name);
    }
    t.end();
  },
);

void t.test('a write that fails later is told of once, and the others go on', { skip }, (t) => {
  const disk = new HeldDisk(t);
  for (const way of ['beyond', 'full'] as const) {
    const rig = new TransferLoopRig(t);
    const content = new RandomBytes(3).next(3 * MEBIBYTE);
    const before = descriptors();
    rig.begin(1, 'a', { size: content.length });
    rig.send(1, content.subarray(0, 2 * MEBIBYTE));
    disk.fails(way, 2);
    rig.loop.round(performance.now());
    const other = rig.begin(2, 'b', { size: content.length });
    rig.send(2, content);
    rig.send(1, content.subarray(2 * MEBIBYTE));
    rig.work();
    t.equal(rig.out, 0, 'its slabs are given back all the same');
    const troubles = rig.reports.filter(({ kind }) => kind === 'trouble');
    t.equal(troubles.length, 1);
    t.match(troubles, [{ stream: 1, failure: { status: way === 'full' ? 507 : undefined } }]);
    t.throws(() => rig.loop.tasks.finish({ stream: 1 }));
    t.ok(isWhole(rig, 2, other, content));
    t.equal(rig.unfinished.length, 1, 'nothing of it is left');
    t.equal(descriptors(), before);
  }
  t.end();
});

void t.test('a stream whose last write fails cannot be finished', { skip }, (t) => {
  const rig = new TransferLoopRig(t);
  const disk = new HeldDisk(t);
  rig.begin(1, 'a', { size: MEBIBYTE });
  rig.send(1, new RandomBytes(4).next(MEBIBYTE));
  disk.fails('beyond', 4);
  t.throws(() => rig.loop.tasks.finish({ stream: 1 }));
  t.equal(rig.out, 0);
  t.same(rig.unfinished, []);
  t.end();
});

void t.test('a file that gets less than was said is as long as what came', { skip }, (t) => {
  const rig = new TransferLoopRig(t);
  const content = new RandomBytes(5).next(MEBIBYTE + 5);
  const file = rig.begin(1, 'a', { size: 3 * MEBIBYTE });
  t.equal(statSync(file.temporary).size, MEBIBYTE);
  rig.send(1, content);
  t.ok(isWhole(rig, 1, file, content));
  const nothing = rig.begin(2, 'b', { size: 3 * MEBIBYTE });
  t.ok(isWhole(rig, 2, nothing, Buffer.alloc(0)));
  t.end();
});

void t.test('a file that is continued is as long as what it has, wherever it goes on', { skip }, (t) => {
  const rig = new TransferLoopRig(t);
  const path = join(rig.folder, 'part');
  for (const position of [0, PAGE_LENGTH, 3 * PAGE_LENGTH, 5, PAGE_LENGTH - 1, 10_000]) {
    const begun = new RandomBytes(position).next(position);
    writeFileSync(path, Buffer.concat([begun, Buffer.from('what is behind goes')]));
    const content = new RandomBytes(6).next(2 * MEBIBYTE + 300);
    const before = rig.back.length;
    rig.append(1, path, position, position + content.length);
    t.equal(statSync(path).size, position);
    let [sent, given] = [0, 0];
    for (; sent < 2 * MEBIBYTE; sent += SLAB_LENGTH) {
      rig.send(1, content.subarray(sent, sent + SLAB_LENGTH));
      rig.loop.round(performance.now());
      rig.takeBack();
      given = (rig.back.length - before) * SLAB_LENGTH;
      t.equal(statSync(path).size, position + given);
    }
    t.equal(given, 2 * MEBIBYTE);
    const isAligned = position % PAGE_LENGTH === 0;
    t.equal(isInMemory(path, position + MEBIBYTE), !isAligned, `from ${position} on`);
    rig.send(1, content.subarray(sent));
    if (isAligned) rig.loop.tasks.drop({ stream: 1 });
    else rig.loop.tasks.finish({ stream: 1 });
    t.ok(readFileSync(path).equals(Buffer.concat([begun, content])));
    t.equal(rig.out, 0);
  }
  t.end();
});

void t.test('little that is left of a file is copied', { skip }, (t) => {
  const rig = new TransferLoopRig(t);
  const path = join(rig.folder, 'part');
  writeFileSync(path, new RandomBytes(7).next(MEBIBYTE));
  rig.append(1, path, MEBIBYTE, 2 * MEBIBYTE - 1);
  rig.send(1, new RandomBytes(8).next(SLAB_LENGTH));
  rig.work();
  t.ok(isInMemory(path, MEBIBYTE));
  t.equal(statSync(path).size, MEBIBYTE + SLAB_LENGTH);
  rig.loop.tasks.drop({ stream: 1 });
  t.end();
});
