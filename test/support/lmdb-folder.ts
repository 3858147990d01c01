/** A state folder as earlier versions left it, which kept the store in LMDB. */
import { open } from 'lmdb';
import type { StoredRecord } from '../../src/base/store/store.js';
import type { Random } from './random.js';

const PARTS = [
  'é',
  '\u{1f600}',
  '\uffff',
  '__proto__',
  ' ',
  '1e3',
  'true',
  'x'.repeat(255),
  '\u0001\u0002',
  'lab',
];

const TOGETHER = 50;

/** Fills the folder in several commits, some of which take away; returns the records that it holds then, in their order. */
export async function lmdbFolder(folder: string, random: Random, changes: number): Promise<StoredRecord[]> {
  const database = open<unknown>({ path: folder, encoding: 'msgpack', noSubdir: false });
  database.transactionSync(() => {
    void database.put(['format'], 1);
  });
  for (let count = 0; count < changes; count += TOGETHER) {
    database.transactionSync(() => {
      for (let each = 0; each < TOGETHER; each++) {
        const key = ['project', random.pick(PARTS), `n${random.below(1 + changes / 2)}`];
        if (random.chance(0.2)) void database.remove(key);
        else void database.put(key, valueOf(random));
      }
    });
  }
  const records = [...database.getRange({})].map(({ key, value }) => ({
    key: [key].flat() as string[],
    value,
  }));
  await database.flushed;
  await database.close();
  return records;
}

function valueOf(random: Random): unknown {
  const text = 'v'.repeat(random.below(random.chance(0.05) ? 60_000 : 300));
  return {
    text,
    order: random.below(1e6),
    list: [
      { a: 1, b: [null, 0.5] },
      { a: 2, b: [] },
    ],
    nothing: null,
  };
}
