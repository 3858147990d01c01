/** A journal after failures of the disk and power cuts, held against a model. */
import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import t, { type Test } from 'tap';
import { JournalStore } from '../../../src/base/store/journal-store.js';
import { Random, testSeed } from '../../support/random.js';
import { quickFolder } from '../../support/small-disk.js';
import { SimulatedDisk, type DiskCall } from '../../support/simulated-disk.js';
import { digestOf, StoreModel } from '../../support/store-model.js';

interface Rig {
  readonly random: Random;
  readonly disk: SimulatedDisk;
  readonly folder: string;
  readonly lost: string;
}

function rigOf(t: Test, usualSeed: number): Rig {
  const random = new Random(testSeed(usualSeed));
  const scratch = quickFolder(t);
  const folder = join(scratch, 'state');
  mkdirSync(folder);
  return { random, disk: new SimulatedDisk(t, folder, random), folder, lost: join(scratch, 'lost') };
}

function stateIn(folder: string): string {
  const store = new JournalStore(folder);
  try {
    return digestOf(store.load([]));
  } finally {
    store.close();
  }
}

/** How a commit ended. */
function statusOf(work: () => void): number {
  try {
    work();
    return 200;
  } catch (error) {
    if (error instanceof Error && 'status' in error) return Number(error.status);
    throw error;
  }
}

void t.test('a power cut at any call loses nothing that was acknowledged', (t) => {
  const { random, disk, folder, lost } = rigOf(t, 21);
  const store = new JournalStore(folder);
  let model = new StoreModel();
  for (let round = 0; round < 40; round++) {
    const changes = model.changes(random, 40_000);
    const after = model.after(changes);
    let calls = random.below(4);
    const cuts: string[] = [];
    disk.failing = (call) => {
      if (calls-- === 0) {
        disk.cutPower(lost);
        cuts.push(call);
      }
      return undefined;
    };
    store.commit(changes);
    disk.failing = () => undefined;
    if (cuts.length > 0) {
      const found = stateIn(lost);
      if (found !== model.digest && found !== after.digest)
        t.fail(`round ${round}: neither before nor after`);
    }
    model = after;
    if (random.chance(0.5)) continue;
    disk.cutPower(lost);
    if (stateIn(lost) !== model.digest) t.fail(`round ${round}: what was acknowledged is lost`);
  }
  t.equal(digestOf(store.load([])), model.digest);
  store.close();
  t.end();
});

void t.test('commits that the disk refuses change nothing, and the next good one works', (t) => {
  const { random, disk, folder, lost } = rigOf(t, 22);
  const store = new JournalStore(folder);
  let model = new StoreModel();
  const statuses = new Map<number, number>();
  for (let round = 0; round < 100; round++) {
    const changes = model.changes(random, 40_000);
    const code = random.pick(['EIO', 'ENOSPC', 'EROFS']);
    const call = random.pick<DiskCall>(['writeSync', 'fdatasyncSync', 'ftruncateSync']);
    let failures = random.below(4);
    disk.failing = (made) => (made === call && failures-- > 0 ? code : undefined);
    const status = statusOf(() => {
      store.commit(changes);
    });
    disk.failing = () => undefined;
    statuses.set(status, (statuses.get(status) ?? 0) + 1);
    if (status === 200) model = model.after(changes);
    else if (status !== (code === 'ENOSPC' ? 507 : 503)) t.fail(`round ${round}: ${code} is a ${status}`);
    if (digestOf(store.load([])) !== model.digest)
      t.fail(`round ${round}: a refused commit changed something`);
    if (random.chance(0.2)) {
      const good = model.changes(random);
      store.commit(good);
      model = model.after(good);
      disk.cutPower(lost);
      if (stateIn(lost) !== model.digest) t.fail(`round ${round}: it is acknowledged and not on the disk`);
    }
  }
  t.ok([200, 503, 507].every((status) => (statuses.get(status) ?? 0) >= 5));
  store.close();
  t.equal(stateIn(folder), model.digest);
  t.end();
});

void t.test('a sync that failed is not believed when it succeeds without the bytes', (t) => {
  const { disk, folder, lost } = rigOf(t, 23);
  const store = new JournalStore(folder);
  store.commit([{ put: ['x', 'a'], value: 1 }]);
  const before = digestOf(store.load([]));
  let failures = 1;
  disk.failing = (call) => (call === 'fdatasyncSync' && failures-- > 0 ? 'EIO' : undefined);
  t.equal(
    statusOf(() => {
      store.commit([{ put: ['x', 'b'], value: 'v'.repeat(20_000) }]);
    }),
    503,
  );
  disk.cutPower(lost);
  t.equal(stateIn(lost), before, 'the refused commit is off the disk');
  store.commit([{ put: ['x', 'c'], value: 3 }]);
  const after = digestOf(store.load([]));
  disk.cutPower(lost);
  t.equal(stateIn(lost), after);
  store.close();
  t.end();
});

void t.test('while the disk fails for good, every commit is refused and reads go on', (t) => {
  const { disk, folder } = rigOf(t, 24);
  const store = new JournalStore(folder);
  store.commit([{ put: ['x', 'a'], value: 1 }]);
  disk.failing = (call) => (call === 'renameSync' ? undefined : 'EIO');
  for (let count = 0; count < 50; count++) {
    t.equal(
      statusOf(() => {
        store.commit([{ put: ['x', `b${count}`], value: 'v'.repeat(count * 1000) }]);
      }),
      503,
    );
    t.same(store.load(['x']), [{ key: ['x', 'a'], value: 1 }]);
  }
  disk.failing = () => undefined;
  store.commit([{ put: ['x', 'c'], value: 3 }]);
  store.close();
  const again = new JournalStore(folder);
  t.same(again.load(['x']), [
    { key: ['x', 'a'], value: 1 },
    { key: ['x', 'c'], value: 3 },
  ]);
  again.close();
  t.end();
});
