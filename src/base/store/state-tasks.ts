/** The tasks of the state thread. */
import type { TaskTable } from '../threads/task.js';
import type { Notice } from './journal-opening.js';
import { JournalStore } from './journal-store.js';
import { packRecords } from './packing.js';
import type { Key, Packed } from './store.js';

export interface StateTasks extends TaskTable {
  /** Returns messages about the opening of the store. */
  readonly open: (input: undefined) => readonly Notice[];
  readonly commit: (parts: readonly Packed[]) => void;
  readonly load: (prefixes: readonly Key[]) => Packed;
  readonly close: (input: undefined) => void;
}

/** The first task opens the store. When that fails, each task tries again and fails with the reason. */
export function stateTasks(folder: string): StateTasks {
  let opened: JournalStore | undefined;
  const store = (): JournalStore => (opened ??= new JournalStore(folder));
  return {
    open: () => store().notices,
    commit: (parts) => {
      store().commitPacked(...parts);
    },
    load: (prefixes) => packRecords(prefixes.flatMap((prefix) => store().load(prefix))),
    close: () => {
      opened?.close();
    },
  };
}
