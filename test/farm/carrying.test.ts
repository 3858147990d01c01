import t from 'tap';
import { StateThread } from '../../src/base/store/state-thread.js';
import type { Change, Store, StoredRecord } from '../../src/base/store/store.js';
import { carry, type Carried } from '../../src/farm/carrying.js';
import { SHARED_RECORDS } from '../../src/farm/farm-store.js';
import { scratchFolder, type Teardown } from '../support/scratch.js';

async function storeOf(t: Teardown): Promise<Store> {
  const store = new StateThread(scratchFolder(t));
  await store.open();
  t.teardown(() => store.close());
  return store;
}

/** Carries all that the source has; an interrupted one dies when the copies are there. */
function carried(source: Store, target: Store, isInterrupted = false): Promise<Carried> {
  const dying = {
    load: source.load.bind(source),
    commit: () => Promise.reject(new Error('interrupted')),
  } as unknown as Store;
  return carry({
    ...{ source: isInterrupted ? dying : source, target, server: 's1', besides: [] },
    choose: (records) => records,
    cleared: () => SHARED_RECORDS.map((clear): Change => ({ clear })),
  });
}

const textOf = (records: readonly StoredRecord[]): string[] =>
  records.map(({ key, value }) => `${key.join('/')} ${JSON.stringify(value)}`).sort();

void t.test('all that is known about a project goes along, as it is when the carrying ends', async (t) => {
  const [source, target] = [await storeOf(t), await storeOf(t)];
  const settings = { name: 'lab' };
  await source.commit([
    { put: ['user', 'u'], value: { name: 'ann', quota: { nodes: 5 } } },
    { put: ['head', 'p', 'project'], value: { order: 0, path: '/p', filename: 'f', settings, computes: [] } },
    { put: ['lab', 'p', 'node', 'n'], value: { order: 0, object: {} } },
    { put: ['grant', 'p', 'u'], value: 'owner' },
    { put: ['grant', 'p', 'v'], value: 'edit' },
    { put: ['group-grant', 'p', 'g'], value: 'view' },
    { put: ['quota', 'p'], value: { nodes: 3 } },
    { put: ['end-time', 'p'], value: { at: 1 } },
    { put: ['deal', 'p', 'u'], value: { project_id: 'q', start: 's', group: 'g' } },
  ]);
  await t.rejects(carried(source, target, true), /interrupted/);
  await source.commit([
    { remove: ['grant', 'p', 'v'] },
    { remove: ['end-time', 'p'] },
    { put: ['quota', 'p'], value: { nodes: 4 } },
  ]);
  const wanted = textOf(await source.load(...SHARED_RECORDS));
  t.equal(wanted.length, 7);
  t.match(await carried(source, target), { projects: 1, records: 7, isResumed: false });
  t.same(textOf(await target.load(...SHARED_RECORDS)), wanted, 'what was taken away meanwhile is gone');
  t.same(await source.load(...SHARED_RECORDS), []);
  t.same(await target.load(['carried']), []);
});

void t.test('copies that somebody has given other rights since are not replaced', async (t) => {
  const [source, target] = [await storeOf(t), await storeOf(t)];
  const record = { order: 0, path: '/p', filename: 'f', settings: { name: 'lab' }, computes: [] };
  await source.commit([
    { put: ['head', 'p', 'project'], value: record },
    { put: ['grant', 'p', 'u'], value: 'owner' },
  ]);
  await t.rejects(carried(source, target, true), /interrupted/);
  await target.commit([{ put: ['grant', 'p', 'w'], value: 'edit' }]);
  await source.commit([{ put: ['grant', 'p', 'v'], value: 'edit' }]);
  await t.rejects(carried(source, target), /both the records and their copies have changed/);
  t.match(await target.load(['grant', 'p']), [{ value: 'owner' }, { value: 'edit' }]);
  t.equal((await source.load(['grant', 'p'])).length, 2);
});
