import t from 'tap';
import type { Change, StoredRecord } from '../../../src/base/store/store.js';
import type { ProjectHold } from '../../../src/lab/projects/elsewhere.js';
import { runRight } from '../../../src/lab/projects/run-right.js';

/** A store of one record. */
class OneRecord {
  record: StoredRecord | undefined;
  isSilent = false;

  load(): Promise<StoredRecord[]> {
    return Promise.resolve(this.record === undefined ? [] : [this.record]);
  }

  commit([change]: readonly Change[]): Promise<void> {
    if (this.isSilent) return Promise.reject(new Error('nobody answers'));
    if (change !== undefined && 'put' in change) this.record = { key: change.put, value: change.value };
    return Promise.resolve();
  }
}

void t.test('the epoch of a life is larger than all before, and is stored before it is told', async (t) => {
  const store = new OneRecord();
  const first = runRight('p', { store });
  t.same(await Promise.all([first.epoch(), first.epoch()]), [1, 1], 'one for each life');
  t.match(store.record, { key: ['head', 'p', 'epoch'], value: 1 });
  t.equal(await runRight('p', { store }).epoch(), 2);
  const next = runRight('p', { store });
  store.isSilent = true;
  await t.rejects(next.epoch(), /nobody/);
  store.isSilent = false;
  t.equal(await next.epoch(), 3);
  t.ok(next.holds());

  const claim = { epoch: 57, isOver: false, isFresh: true };
  const hold = {
    ...{ epoch: claim.epoch, store, isOver: () => claim.isOver, isFresh: () => claim.isFresh },
  } as unknown as ProjectHold;
  const owner = runRight('p', { store, hold });
  t.equal(await owner.epoch(), 57, 'that of the claim');
  t.equal(await runRight('p', { store, hold }).epoch(), 58, 'opened again by the same owner');
  t.ok(owner.holds());
  claim.isFresh = false;
  t.notOk(owner.holds(), 'another server might have it');
  Object.assign(claim, { isFresh: true, isOver: true });
  t.notOk(owner.holds());
});
