/** Folders of earlier versions are made with the library that those versions used. */
import { readFileSync, truncateSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import t from 'tap';
import { readLmdb } from '../../../src/base/store/lmdb-reading.js';
import { lmdbFolder } from '../../support/lmdb-folder.js';
import { Random, testSeed } from '../../support/random.js';
import { quickFolder } from '../../support/small-disk.js';

void t.test('reads what the library would read', async (t) => {
  const random = new Random(testSeed(31));
  const folder = quickFolder(t);
  const expected = await lmdbFolder(folder, random, 3000);
  t.same(readLmdb(join(folder, 'data.mdb')), expected);
});

void t.test('reads an empty store', async (t) => {
  const folder = quickFolder(t);
  const expected = await lmdbFolder(folder, new Random(32), 0);
  t.same(readLmdb(join(folder, 'data.mdb')), expected);
});

void t.test('a damaged file is read or refused, and never more than that', async (t) => {
  const random = new Random(testSeed(33));
  const folder = quickFolder(t);
  const path = join(folder, 'data.mdb');
  await lmdbFolder(folder, random, 400);
  const whole = readFileSync(path);
  let refused = 0;
  const look = (): void => {
    try {
      readLmdb(path);
    } catch (error) {
      if (!(error instanceof Error) || 'syscall' in error) throw error;
      refused++;
    }
  };
  for (let round = 0; round < 120; round++) {
    const bytes = Buffer.from(whole);
    for (let flips = 1 + random.below(20); flips > 0; flips--)
      bytes[random.below(bytes.length)] = random.below(256);
    writeFileSync(path, bytes);
    look();
  }
  for (let page = 0; page * 4096 < whole.length; page++) {
    const bytes = Buffer.from(whole);
    bytes.fill(random.chance(0.5) ? 0 : random.below(256), page * 4096, (page + 1) * 4096);
    writeFileSync(path, bytes);
    look();
    writeFileSync(path, whole);
    truncateSync(path, page * 4096 + random.below(4096));
    look();
  }
  t.ok(refused > 50, `${refused} files were refused`);
});

void t.test('a file that is no store at all is refused', (t) => {
  const path = join(quickFolder(t), 'data.mdb');
  for (const content of ['', 'x', '\0'.repeat(100_000)]) {
    writeFileSync(path, content);
    t.throws(() => readLmdb(path), { message: 'it has no whole meta page' });
  }
  t.end();
});
