/** Snapshots on a disk that is full, and on one that cannot be read. */
import { existsSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import t from 'tap';
import { FaultLab } from '../support/fault-lab.js';
import { fillDisk, NO_MOUNT, smallDisk } from '../support/small-disk.js';
import { finished } from '../support/client.js';

const isFull = { status: 507, body: { status: 507, message: /No space left/ } };

function contentNames(lab: FaultLab): string[] {
  const folder = join(lab.snapshots, 'content');
  return existsSync(folder) ? readdirSync(folder).sort() : [];
}

void t.test('on a full disk nothing is made and nothing is restored, until there is room', async (t) => {
  const disk = smallDisk(t, 24 * 1024);
  if (disk === undefined) {
    t.pass(`# SKIP ${NO_MOUNT}`);
    return;
  }
  const lab = await FaultLab.make(t, join(disk, 'data'));
  const present = await lab.content();
  const objects = contentNames(lab);
  for (const left of [0, 8192, 65_536, 262_144]) {
    const giveBack = fillDisk(disk, left);
    t.match(await lab.create('third'), isFull, `no snapshot fits into ${left} bytes`);
    t.match(await lab.restore(await lab.idOf('first')), isFull, 'nor does what is to be restored');
    if (left === 0) t.match(await lab.restoreNode(await lab.idOf('first')), isFull, 'nor one node of it');
    giveBack();
    t.same(contentNames(lab), objects, 'nothing is left of it');
    t.same(lab.remains(), [], 'nor in the folder for jobs');
    t.equal(await lab.content(), present, 'the project is what it was');
    t.same(await lab.problems(), []);
  }
  t.equal((await lab.create('third')).status, 201);
  t.equal((await lab.restore(await lab.idOf('first'))).status, 201);
  t.not(await lab.content(), present);
  t.equal((await lab.restore(await lab.idOf('third'))).status, 201);
  t.same(await lab.problems(), []);
});

void t.test('an unreadable snapshot is damaged, and the project stays as it was', async (t) => {
  const lab = await FaultLab.make(t);
  const present = await lab.content();
  const id = await lab.idOf('first');
  const isDamaged = { status: 409, body: { status: 409, message: /cannot be read: EIO/ } };
  for (const at of [1, 2]) {
    const { reply, hasFired } = await lab.under({ of: 'reads', at, mode: 'EIO' }, () => lab.restore(id));
    t.ok(hasFired);
    t.match(reply, isDamaged);
    t.equal(await lab.content(), present, 'nothing has changed');
  }
  const path = `${lab.base}/snapshots/${id}/verify`;
  const found = await lab.under({ of: 'reads', at: 1, mode: 'EIO' }, () =>
    finished(lab.client, 'POST', path),
  );
  t.match(found.reply, { status: 200, body: { is_whole: false, damaged: [{ reason: /EIO/ }] } });
  t.match(
    await finished(lab.client, 'POST', path),
    { body: { is_whole: true } },
    'the disk can be read again',
  );
  t.same(await lab.problems(), []);
});
