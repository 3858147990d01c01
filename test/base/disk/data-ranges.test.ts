/** Where files have data. */
import { closeSync, ftruncateSync, openSync, statSync, writeSync } from 'node:fs';
import { join } from 'node:path';
import t from 'tap';
import { dataRanges } from '../../../src/base/disk/linux-files.js';
import { Random, testSeed } from '../../support/random.js';
import { scratchFolder } from '../../support/scratch.js';

const MEBIBYTE = 1024 * 1024;
const PAGE = 4096;
const folder = scratchFolder(t);
const seed = testSeed(7);
const skip = process.platform === 'linux' ? false : 'elsewhere nobody tells';

/** A file of that length which has ones at these pages. */
function newFile(name: string, size: number, pages: readonly number[]): number {
  const fd = openSync(join(folder, name), 'w+');
  t.teardown(() => {
    closeSync(fd);
  });
  ftruncateSync(fd, size);
  for (const page of pages) writeSync(fd, Buffer.alloc(PAGE, 1), 0, PAGE, page * PAGE);
  return fd;
}

void t.test('holes are left out, and the file system says where they are', { skip }, (t) => {
  const size = 64 * MEBIBYTE;
  const fd = newFile('holes', size, [256, 257, 4000]);
  t.ok(statSync(join(folder, 'holes')).blocks * 512 < MEBIBYTE, 'this file system has holes');
  t.same(
    [...dataRanges(fd, size)],
    [
      { start: 256 * PAGE, end: 258 * PAGE },
      { start: 4000 * PAGE, end: 4001 * PAGE },
    ],
  );
  t.same([...dataRanges(fd, 256 * PAGE + 5)], [{ start: 256 * PAGE, end: 256 * PAGE + 5 }], 'up to the size');
  t.same([...dataRanges(fd, 256 * PAGE)], []);
  t.same([...dataRanges(fd, 0)], []);
  t.same([...dataRanges(newFile('hole', size, []), size)], [], 'nothing but a hole');
  t.same([...dataRanges(newFile('empty', 0, []), 0)], []);
  t.end();
});

void t.test(`whatever was written is in a range (seed ${seed})`, (t) => {
  const random = new Random(seed);
  for (let count = 0; count < 20; count++) {
    const pages = new Set(Array.from({ length: random.below(40) }, () => random.below(512)));
    const size = 512 * PAGE + random.below(PAGE);
    const ranges = [...dataRanges(newFile(`random-${count}`, size, [...pages]), size)];
    let last = 0;
    for (const { start, end } of ranges) {
      if (start < last || end <= start || end > size) t.fail(`${start} to ${end} after ${last}`);
      last = end;
    }
    for (const page of pages) {
      const isIn = ranges.some(({ start, end }) => start <= page * PAGE && (page + 1) * PAGE <= end);
      if (!isIn) t.fail(`page ${page}`);
    }
    t.pass(`${pages.size} pages in ${ranges.length} ranges`);
  }
  t.end();
});

void t.test('a file that became shorter has no more', { skip }, (t) => {
  const fd = newFile('shorter', 10 * PAGE, [0, 9]);
  const ranges = dataRanges(fd, 10 * PAGE);
  t.same(ranges.next().value, { start: 0, end: PAGE });
  ftruncateSync(fd, 5 * PAGE);
  t.equal(ranges.next().done, true);
  t.end();
});

void t.test('where nobody can tell, all of it is data', { skip }, (t) => {
  const fd = openSync('/proc/version', 'r');
  t.same([...dataRanges(fd, 100)], [{ start: 0, end: 100 }]);
  closeSync(fd);
  t.throws(() => [...dataRanges(-1, 100)], { code: 'EBADF', message: 'EBADF: bad file descriptor, lseek' });
  t.end();
});
