/** Looks at records of a journal without holding its folder: a server may be writing it. */
import { closeSync, constants, fstatSync, openSync } from 'node:fs';
import { join } from 'node:path';
import { unpack } from 'msgpackr';
import { entriesOf } from './journal-format.js';
import { readFrames, readHead } from './journal-reading.js';
import type { Key, StoredRecord } from './store.js';

/** A longer journal takes too long for a glance. */
const LONGEST_JOURNAL = 512 * 1024 * 1024;

/** The records whose keys begin with the word, as the journal has them by now; undefined when it cannot be looked at. */
export function glanceAtJournal(folder: string, first: string): StoredRecord[] | undefined {
  const fd = openSync(join(folder, 'journal'), constants.O_RDONLY | constants.O_NOFOLLOW);
  try {
    const head = fstatSync(fd).size > LONGEST_JOURNAL ? undefined : readHead(fd);
    if (head === undefined) return undefined;
    const found = new Map<string, StoredRecord>();
    readFrames(fd, head, ({ bytes, position }) => {
      for (const { kind, key, place } of entriesOf(bytes, position)) {
        if (key[0] !== first && !(kind === 'clear' && key.length === 0)) continue;
        const from = place.position - position;
        if (kind === 'put')
          found.set(nameOf(key), {
            key,
            value: unpack(bytes.subarray(from, from + place.length)) as unknown,
          });
        else if (kind === 'remove') found.delete(nameOf(key));
        else for (const [name, record] of found) if (isBelow(record.key, key)) found.delete(name);
      }
    });
    return [...found.values()];
  } finally {
    closeSync(fd);
  }
}

function nameOf(key: Key): string {
  return JSON.stringify(key);
}

function isBelow(key: Key, prefix: Key): boolean {
  return prefix.every((part, index) => key[index] === part);
}
