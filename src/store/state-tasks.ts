/** What the state thread does for the HTTP thread. */
import type { TaskTable } from '../pool/task.js';
import { LmdbStore } from './lmdb-store.js';
import { packRecords, unpackChanges, type Packed } from './packing.js';
import type { Key } from './store.js';

export interface StateTasks extends TaskTable {
  readonly commit: (parts: readonly Packed[]) => void;
  readonly load: (prefixes: readonly Key[]) => Packed;
  readonly close: (input: undefined) => Promise<void>;
}

export function stateTasks(folder: string): StateTasks {
  const store = new LmdbStore(folder);
  return {
    commit: (parts) => {
      store.commit(parts.flatMap(unpackChanges));
    },
    load: (prefixes) => packRecords(prefixes.flatMap((prefix) => store.load(prefix))),
    close: () => store.close(),
  };
}
