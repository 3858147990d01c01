import t from 'tap';
import { StateThread } from '../../../src/base/store/state-thread.js';
import { scratchFolder } from '../../support/scratch.js';
import { storeContract } from './store.contract.js';

storeContract(t, {
  open: (folder) => new StateThread(folder),
  module: new URL('../../../src/base/store/state-thread.js', import.meta.url),
  className: 'StateThread',
  impossible: { put: ['x', 'k'.repeat(10_000)], value: 1 },
  outdated: async (store) => {
    const reading = await store.read();
    const value = 'v'.repeat(1024);
    for (let count = 0; count < 300; count++) await store.commit([{ put: ['f', 'much'], value }]);
    return reading;
  },
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

void t.test('positions of an earlier process are gone', async (t) => {
  const folder = scratchFolder(t);
  const first = new StateThread(folder);
  await first.commit([{ put: ['f', 'a'], value: 1 }]);
  const { position } = await first.read();
  await first.close();
  const second = new StateThread(folder);
  await new Promise<void>((gone, reject) => {
    const committed = (): void => {
      reject(new Error('it told of a commit'));
    };
    second.follow([['f']], position, { committed, gone });
  });
  t.equal((await second.read(['f'])).records.length, 1);
  await second.close();
});
