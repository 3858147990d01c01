/** Writes that the disk does by itself. */
import { closeSync, constants, openSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import t from 'tap';
import {
  newSlabs,
  PAGE_LENGTH,
  SLAB_LENGTH,
  SLABS,
  slabView,
} from '../../../src/base/memory/transfer-memory.js';
import { DiskQueue } from '../../../src/base/disk/disk-queue.js';
import { slabBytes } from '../../../src/files/transfer/slabs.js';
import { hasDirectWrites } from '../../support/direct-disk.js';
import { Random, RandomBytes } from '../../support/random.js';
import { scratchFolder } from '../../support/scratch.js';

const memory = newSlabs();
const octets = slabBytes(memory);
const queue = DiskQueue.open(memory);
const skip = queue === undefined ? 'only Linux has such writes' : false;
/** No file is as long. */
const BEYOND = 2 ** 63 - 2 * PAGE_LENGTH;

const opened = (): DiskQueue => {
  if (queue === undefined) throw new Error('there is none');
  return queue;
};

/** A file for writes without a copy where that can be. */
function newFile(folder: string, name = 'a', flags: number = constants.O_RDWR): { fd: number; path: string } {
  const path = join(folder, name);
  writeFileSync(path, '');
  return { fd: openSync(path, flags | (hasDirectWrites(folder) ? constants.O_DIRECT : 0)), path };
}

function drain(): void {
  while (opened().underWay > 0) opened().reap(true);
}

void t.test('more writes than may be under way are all done, and each is told once', { skip }, (t) => {
  const { fd, path } = newFile(scratchFolder(t));
  const pages = 2000;
  const bytes = new RandomBytes(1).next(pages * PAGE_LENGTH);
  octets.set(bytes);
  const told = Array<number>(pages).fill(0);
  const errors: Error[] = [];
  for (let page = 0; page < pages; page++) {
    const start = page * PAGE_LENGTH;
    opened().write(fd, octets.subarray(start, start + PAGE_LENGTH), start, (error) => {
      told[page] = (told[page] ?? 0) + 1;
      if (error !== undefined) errors.push(error);
    });
  }
  // Some had to be over before there was room for others.
  t.equal(opened().underWay, told.filter((times) => times === 0).length);
  drain();
  t.same(errors, []);
  t.ok(told.every((times) => times === 1));
  t.ok(readFileSync(path).equals(bytes));
  closeSync(fd);
  t.end();
});

void t.test('bytes come from the slabs, whichever, to files, wherever', { skip }, (t) => {
  const folder = scratchFolder(t);
  const files = ['a', 'b', 'c'].map((name) => newFile(folder, name));
  const random = new Random(2);
  const expected = files.map(() => Buffer.alloc(0));
  for (let count = 0; count < 60; count++) {
    const slab = count % 2 === 0 ? count : SLABS - 1 - count;
    const length = PAGE_LENGTH * (1 + random.below(SLAB_LENGTH / PAGE_LENGTH));
    const bytes = slabView(octets, slab, 0, length);
    bytes.set(new RandomBytes(count).next(length));
    const which = random.below(files.length);
    const before = expected[which] ?? Buffer.alloc(0);
    opened().write(files[which]?.fd ?? -1, bytes, before.length, (error) => {
      if (error !== undefined) t.fail(error.message);
    });
    expected[which] = Buffer.concat([before, bytes]);
  }
  drain();
  for (const [which, { path, fd }] of files.entries()) {
    t.ok(expected[which]?.equals(readFileSync(path)), path);
    closeSync(fd);
  }
  t.end();
});

void t.test('nobody is told before somebody asks, and asking waits for nothing', { skip }, (t) => {
  const { fd } = newFile(scratchFolder(t));
  opened().reap(true);
  let isWritten = false;
  opened().write(fd, slabView(octets, 0), 0, () => {
    isWritten = true;
  });
  t.notOk(isWritten);
  t.equal(opened().underWay, 1);
  drain();
  t.ok(isWritten);
  closeSync(fd);
  t.end();
});

void t.test('a write that fails is told, and others are done', { skip }, (t) => {
  const { fd, path } = newFile(scratchFolder(t));
  const told: (Error | undefined)[] = [];
  const note = (error?: Error): number => told.push(error);
  slabView(octets, 0).fill(1);
  opened().write(fd, slabView(octets, 0, 0, PAGE_LENGTH), 0, note);
  opened().write(fd, slabView(octets, 0, 0, PAGE_LENGTH), BEYOND, note);
  opened().write(fd, slabView(octets, 0, 0, PAGE_LENGTH), PAGE_LENGTH, note);
  drain();
  t.equal(told.length, 3);
  t.match(
    told.filter((error) => error !== undefined),
    [{ message: /^E[A-Z]+: .*, write$|^the disk took \d+ of 4096 bytes$/ }],
  );
  t.equal(readFileSync(path).length, 2 * PAGE_LENGTH);
  closeSync(fd);
  t.end();
});

void t.test('a write that cannot even begin is told at once, as the system does', { skip }, (t) => {
  const folder = scratchFolder(t);
  const { fd } = newFile(folder, 'a', constants.O_RDONLY);
  for (const wrong of [fd, 100_000]) {
    const write = (): void => {
      opened().write(wrong, slabView(octets, 0), 0, () => {
        t.fail('it was told twice');
      });
    };
    t.throws(write, { code: 'EBADF', message: 'EBADF: bad file descriptor, io_submit' });
  }
  t.equal(opened().underWay, 0);
  drain();
  closeSync(fd);
  t.end();
});
