import { join } from 'node:path';
import t from 'tap';
import { DiskRoom } from '../../../src/captures/writing/disk-room.js';
import { scratchFolder } from '../../support/scratch.js';

const PLENTY = 2 ** 60;

void t.test('a disk with less than the floor is refused, with what to do', (t) => {
  const folder = scratchFolder(t);
  new DiskRoom(0).check(folder, 0);
  new DiskRoom(1).check(folder, 0);
  t.throws(
    () => {
      new DiskRoom(PLENTY).check(folder, 0);
    },
    { status: 507, message: /^Less than \d+ MiB are free .*make room/ },
  );
  t.end();
});

void t.test('a folder that has gone is no reason to stop', (t) => {
  new DiskRoom(PLENTY).check(join(scratchFolder(t), 'gone'), 0);
  t.end();
});
