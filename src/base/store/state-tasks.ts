/** The tasks of the state thread. */
import { closeSync, fsyncSync, openSync } from 'node:fs';
import { writeWhole } from '../disk/published-file.js';
import type { TaskTable } from '../threads/task.js';
import type { Notice } from './journal-opening.js';
import { JournalStore } from './journal-store.js';
import { examineStore, type StoreExamination } from './store-examination.js';
import { packRecords } from './packing.js';
import type { Key, Packed } from './store.js';

export interface StateTasks extends TaskTable {
  /** Returns messages about the opening of the store. */
  readonly open: (input: undefined) => readonly Notice[];
  /** Looks at the store without changing anything. Throws one sentence when it could not be opened. */
  readonly examine: (input: undefined) => StoreExamination;
  /** The last changes, as many as `along` says, are those of a companion. Returns the number of the last commit. */
  readonly commit: (input: { parts: readonly Packed[]; along: number }) => number;
  /** Writes all records of one moment to a new file, but for those whose keys begin with one of `except`. */
  readonly copy: (input: { readonly path: string; readonly except: readonly string[] }) => void;
  /** The records, as they are after the commit of the number. */
  readonly load: (prefixes: readonly Key[]) => { readonly records: Packed; readonly number: number };
  readonly close: (input: undefined) => void;
}

/** The first task opens the store. When that fails, each task tries again and fails with the reason. */
export function stateTasks(folder: string): StateTasks {
  let opened: JournalStore | undefined;
  const store = (): JournalStore => (opened ??= new JournalStore(folder));
  return {
    open: () => store().notices,
    examine: () => examineStore(folder),
    commit: ({ parts, along }) => {
      store().commitPacked(parts, along);
      return store().number;
    },
    copy: ({ path, except }) => {
      const records = store().load([]);
      const wanted = records.filter(({ key: [first = ''] }) => !except.includes(first));
      const fd = openSync(path, 'wx', 0o600);
      try {
        writeWhole(fd, packRecords(wanted), 0);
        fsyncSync(fd);
      } finally {
        closeSync(fd);
      }
    },
    load: (prefixes) => ({
      records: packRecords(prefixes.flatMap((prefix) => store().load(prefix))),
      number: store().number,
    }),
    close: () => {
      opened?.close();
    },
  };
}
