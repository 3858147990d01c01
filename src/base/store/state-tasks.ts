/** The tasks of the state thread. */
import type { TaskTable } from '../threads/task.js';
import type { Notice } from './journal-opening.js';
import { JournalStore } from './journal-store.js';
import { packRecords } from './packing.js';
import type { Key, Packed } from './store.js';

export interface StateTasks extends TaskTable {
  /** Returns messages about the opening of the store. */
  readonly open: (input: undefined) => readonly Notice[];
  /** The changes of a companion are part of the commit, whatever room it may use. */
  readonly commit: (input: { parts: readonly Packed[]; companion: Packed | undefined }) => void;
  readonly load: (prefixes: readonly Key[]) => Packed;
  readonly close: (input: undefined) => void;
}

/** The first task opens the store. When that fails, each task tries again and fails with the reason. */
export function stateTasks(folder: string): StateTasks {
  let opened: JournalStore | undefined;
  const store = (): JournalStore => (opened ??= new JournalStore(folder));
  return {
    open: () => store().notices,
    commit: ({ parts, companion }) => {
      store().commitPacked(parts, companion);
    },
    load: (prefixes) => packRecords(prefixes.flatMap((prefix) => store().load(prefix))),
    close: () => {
      opened?.close();
    },
  };
}
