/** The seam between records and the parts of a server that have them in memory. */
import type { Key, Store, StoredRecord } from './store.js';

/**
 * Takes a record over into memory, with its key; undefined when it is gone. Called for each record at the start, and for each
 * that another server changes. Must not throw.
 */
export type TakeOver = (key: Key, value: unknown) => void;

/** Whatever keeps all records below a path in memory. */
export interface RecordKeeper {
  readonly at: Key;
  readonly takeOver: TakeOver;
  /** The order in which the records are taken over at the start, where that is not the order of their keys. */
  readonly inOrder?: (a: StoredRecord, b: StoredRecord) => number;
}

/** Gives the keeper its records, and from then on what other servers change of them. */
export async function keepRecords(
  store: Pick<Store, 'load' | 'others'>,
  { at, takeOver, inOrder }: RecordKeeper,
): Promise<void> {
  const records = store.others?.keep(at, takeOver) ?? (await store.load(at));
  for (const { key, value } of inOrder ? [...records].sort(inOrder) : records) takeOver(key, value);
}
