/** Reads of what is in memory, which never wait for a disk. */
import { closeSync, openSync, writeFileSync, writeSync } from 'node:fs';
import { join } from 'node:path';
import t from 'tap';
import { LARGEST_READ, PageCache } from '../../../src/files/downloads/file-reads.js';
import { dropFromMemory } from '../../support/cold-file.js';
import { RandomBytes } from '../../support/random.js';
import { scratchFolder, type Teardown } from '../../support/scratch.js';

const skip = process.platform === 'linux' ? false : 'only Linux has such reads';

function fileOf(t: Teardown, bytes: Uint8Array): number {
  const path = join(scratchFolder(t), 'file');
  writeFileSync(path, bytes);
  const fd = openSync(path, 'r');
  t.teardown(() => {
    closeSync(fd);
  });
  return fd;
}

void t.test('a range is read from memory if all of it is there', { skip }, (t) => {
  const bytes = new RandomBytes(1).next(600_001);
  const cache = new PageCache();
  const fd = fileOf(t, bytes);
  const first = cache.read(fd, 0, 100);
  if (first === undefined) {
    t.pass('# SKIP this file system has no such reads');
    t.end();
    return;
  }
  t.ok(bytes.subarray(0, 100).equals(first));
  t.ok(bytes.subarray(77, 1077).equals(cache.read(fd, 77, 1000) ?? new Uint8Array()));
  t.ok(bytes.subarray(600_000).equals(cache.read(fd, 600_000, 1) ?? new Uint8Array()));
  t.equal(cache.read(fd, 600_001, 10), undefined);
  t.equal(cache.read(fd, 10 ** 12, 10), undefined);
  const most = cache.read(fd, 5, 10 ** 6);
  t.equal(most?.length, LARGEST_READ);
  t.ok(bytes.subarray(5, 5 + LARGEST_READ).equals(most ?? new Uint8Array()));
  t.equal(cache.read(-1, 0, 10), undefined, 'and no file is no trouble');
  t.end();
});

void t.test('places beyond 4 GiB are places, too', { skip }, (t) => {
  const path = join(scratchFolder(t), 'large');
  const fd = openSync(path, 'wx+');
  const position = 5 * 2 ** 30 + 1;
  writeSync(fd, Buffer.from('far away'), 0, 8, position);
  const found = new PageCache().read(fd, position, 100);
  if (found !== undefined) t.equal(Buffer.from(found).toString(), 'far away');
  closeSync(fd);
  t.end();
});

void t.test('a range that only the disk has is not waited for', { skip }, (t) => {
  const fd = fileOf(t, new RandomBytes(2).next(2 ** 20));
  const cache = new PageCache();
  if (cache.read(fd, 0, 100) === undefined || !dropFromMemory(fd)) {
    t.pass('# SKIP this file system has no such reads, or no disk');
    t.end();
    return;
  }
  t.equal(cache.read(fd, 500_000, 1000), undefined);
  t.end();
});
