/** The right of a life of an open project to say what runs, with its number in the store. */
import type { Key, Store } from '../../base/store/store.js';
import type { RunRight } from '../lab-run.js';
import type { ProjectHold } from './elsewhere.js';
import { headKey } from './records.js';

interface RunRightOptions {
  readonly store: Pick<Store, 'commit' | 'load'>;
  readonly hold?: ProjectHold | undefined;
}

const epochKey = (projectId: string): Key => [...headKey(projectId), 'epoch'];

export function runRight(projectId: string, { store, hold }: RunRightOptions): RunRight {
  let epoch: Promise<number> | undefined;
  const key = epochKey(projectId);
  const next = async (): Promise<number> => {
    const [stored] = await store.load(key);
    const last = typeof stored?.value === 'number' ? stored.value : 0;
    const value = Math.max(last + 1, hold?.epoch ?? 0);
    await store.commit([{ put: key, value }]);
    return value;
  };
  return {
    isShared: hold !== undefined,
    holds: () => hold === undefined || (!hold.isOver() && hold.isFresh()),
    epoch: async () => {
      const asked = (epoch ??= next());
      try {
        return await asked;
      } catch (error) {
        if (epoch === asked) epoch = undefined;
        throw error;
      }
    },
  };
}
