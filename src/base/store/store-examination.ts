/** The format of a store, found out without opening it. */
import { closeSync, existsSync, openSync } from 'node:fs';
import { join } from 'node:path';
import { FORMAT } from './journal-format.js';
import { readHead } from './journal-reading.js';

export interface StoreExamination {
  /** The format of the store; undefined when there is none. */
  readonly format: number | undefined;
  /** The format that this program writes. */
  readonly written: number;
}

/** Throws for a store of a newer format. */
export function examineStore(folder: string): StoreExamination {
  const journal = join(folder, 'journal');
  if (existsSync(journal)) checkHead(journal);
  const isOlder = !existsSync(journal) && existsSync(join(folder, 'data.mdb'));
  const format = isOlder ? FORMAT - 1 : existsSync(journal) ? FORMAT : undefined;
  return { format, written: FORMAT };
}

/** A journal without a whole head is damaged, which the opening mends. */
function checkHead(path: string): void {
  const fd = openSync(path, 'r');
  try {
    readHead(fd);
  } finally {
    closeSync(fd);
  }
}
