/** Files that have blocks in common, and blocks that are given back. */
import {
  chmodSync,
  closeSync,
  openSync,
  readdirSync,
  readFileSync,
  statSync,
  writeFileSync,
  writeSync,
} from 'node:fs';
import { join } from 'node:path';
import t from 'tap';
import { cloneFile, punchHole } from '../../../src/base/disk/linux-files.js';
import { NO_RAMFS, plainDisk } from '../../support/direct-disk.js';
import { RandomBytes } from '../../support/random.js';
import { extentsOf, NO_REFLINKS, reflinkDisk } from '../../support/reflink-disk.js';
import { scratchFolder } from '../../support/scratch.js';
import { NO_MOUNT, smallDisk } from '../../support/small-disk.js';

const MEBIBYTE = 1024 * 1024;

void t.test('a clone takes no room, and is a file of its own', (t) => {
  const disk = reflinkDisk(t);
  if (disk === undefined) {
    t.pass(`# SKIP ${NO_REFLINKS}`);
    t.end();
    return;
  }
  const content = new RandomBytes(1).next(MEBIBYTE + 5);
  const [from, to] = [join(disk, 'from'), join(disk, 'to')];
  writeFileSync(from, content);
  chmodSync(from, 0o640);
  t.equal(cloneFile(from, to), true);
  t.same(extentsOf(to), extentsOf(from));
  t.equal(statSync(to).mode & 0o7777, 0o640);
  t.throws(() => cloneFile(from, to), { code: 'EEXIST' });
  writeFileSync(from, 'other', { flag: 'r+' });
  t.ok(readFileSync(to).equals(content));
  const elsewhere = join(scratchFolder(t), 'to');
  t.equal(cloneFile(from, elsewhere), false, 'another file system');
  t.equal(statSync(elsewhere, { throwIfNoEntry: false }), undefined);
  t.end();
});

void t.test('where no blocks are shared, nothing is left', (t) => {
  const disk = smallDisk(t, 1000);
  if (disk === undefined) {
    t.pass(`# SKIP ${NO_MOUNT}`);
    t.end();
    return;
  }
  const from = join(disk, 'from');
  writeFileSync(from, 'content');
  t.equal(cloneFile(from, join(disk, 'to')), false);
  t.same(readdirSync(disk), ['from']);
  writeFileSync(join(disk, 'taken'), 'kept');
  t.throws(() => cloneFile(from, join(disk, 'taken')), { code: 'EEXIST' });
  t.equal(readFileSync(join(disk, 'taken'), 'utf8'), 'kept');
  t.throws(() => cloneFile(join(disk, 'missing'), join(disk, 'to')), { code: 'ENOENT' });
  t.throws(() => cloneFile(from, join(disk, 'missing', 'to')), { code: 'ENOENT' });
  t.same(readdirSync(disk).sort(), ['from', 'taken']);
  t.end();
});

void t.test('a hole gives blocks back', (t) => {
  const path = join(scratchFolder(t), 'a');
  const content = new RandomBytes(2).next(MEBIBYTE);
  writeFileSync(path, content, { flush: true });
  const before = statSync(path).blocks;
  const fd = openSync(path, 'r+');
  const isPunched = punchHole(fd, 100_000, 500_000);
  closeSync(fd);
  if (isPunched) {
    content.fill(0, 100_000, 600_000);
    t.ok((before - statSync(path).blocks) * 512 > 480_000);
  } else {
    t.comment('this file system has no holes to punch');
  }
  t.ok(readFileSync(path).equals(content));
  const reading = openSync(path, 'r');
  if (isPunched) t.throws(() => punchHole(reading, 0, 4096), { code: 'EBADF', message: /, fallocate$/ });
  closeSync(reading);
  t.end();
});

void t.test('where there are no holes, nothing changes', (t) => {
  const disk = plainDisk(t);
  if (disk === undefined) {
    t.pass(`# SKIP ${NO_RAMFS}`);
    t.end();
    return;
  }
  const path = join(disk, 'a');
  const fd = openSync(path, 'w+');
  writeSync(fd, 'content');
  t.equal(punchHole(fd, 0, 4), false);
  closeSync(fd);
  t.equal(readFileSync(path, 'utf8'), 'content');
  t.end();
});
