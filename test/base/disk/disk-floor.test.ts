import { statfsSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import t from 'tap';
import { checkGrowth, Growth, roomFor, setDiskFloor } from '../../../src/base/disk/disk-floor.js';
import { fillDisk, NO_MOUNT, smallDisk } from '../../support/small-disk.js';

const MEBIBYTE = 1024 * 1024;
const FLOOR = 2 * MEBIBYTE;
const freeOf = (folder: string): number => statfsSync(folder).bavail * statfsSync(folder).bsize;
const noRoom = { status: 507, message: /^No space left for .* leave 2 MiB for the labs \(--upload-floor\)/ };

t.afterEach(() => {
  setDiskFloor(0);
});

void t.test('a write that would go below the floor is refused, with the floor', (t) => {
  const disk = smallDisk(t, 8 * 1024);
  if (disk === undefined) {
    t.pass(`# SKIP ${NO_MOUNT}`);
    t.end();
    return;
  }
  const free = freeOf(disk);
  t.equal(roomFor(disk), free, 'a thread that was not told leaves nothing');
  setDiskFloor(FLOOR);
  t.equal(roomFor(disk), free - FLOOR);
  t.equal(checkGrowth(disk, free - FLOOR), 0);
  t.throws(() => checkGrowth(disk, free - FLOOR + 1), noRoom);
  fillDisk(disk, MEBIBYTE);
  t.equal(roomFor(disk), 0);
  t.throws(() => checkGrowth(disk, 0), noRoom);
  t.equal(roomFor('/proc'), Infinity, 'what has no blocks does not tell');
  t.end();
});

void t.test('the usual floor is a share of a small disk', (t) => {
  const disk = smallDisk(t, 8 * 1024);
  if (disk === undefined) {
    t.pass(`# SKIP ${NO_MOUNT}`);
    t.end();
    return;
  }
  const free = freeOf(disk);
  setDiskFloor(undefined);
  t.equal(Math.round(free - roomFor(disk)), Math.round(8 * MEBIBYTE * 0.05));
  t.end();
});

void t.test('a file that grows meets the floor when others have taken the room', (t) => {
  const disk = smallDisk(t, 8 * 1024);
  if (disk === undefined) {
    t.pass(`# SKIP ${NO_MOUNT}`);
    t.end();
    return;
  }
  setDiskFloor(FLOOR);
  const growth = new Growth(disk);
  growth.reach(0, 1000);
  fillDisk(disk, FLOOR + MEBIBYTE);
  growth.reach(1000, 200_000);
  t.pass('what was granted ahead is not asked for again');
  writeFileSync(join(disk, 'mine'), Buffer.alloc(200_000));
  growth.reach(200_000, 800_000);
  t.throws(() => {
    growth.reach(MEBIBYTE, 2 * MEBIBYTE);
  }, noRoom);
  t.end();
});
