import t from 'tap';
import { StateThread } from '../../../src/base/store/state-thread.js';
import { scratchFolder } from '../../support/scratch.js';
import { storeContract } from './store.contract.js';

storeContract(t, {
  open: (folder) => new StateThread(folder),
  module: new URL('../../../src/base/store/state-thread.js', import.meta.url),
  className: 'StateThread',
  impossible: { put: ['x', 'k'.repeat(10_000)], value: 1 },
});

void t.test('close waits for the commits before it', async (t) => {
  const folder = scratchFolder(t);
  const store = new StateThread(folder);
  const commits = Array.from({ length: 300 }, (_, index) =>
    store.commit([{ put: ['c', String(index)], value: index }]),
  );
  await store.close();
  await Promise.all(commits);
  const again = new StateThread(folder);
  t.equal((await again.load(['c'])).length, 300);
  await again.close();
});
