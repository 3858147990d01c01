import { mkdirSync, symlinkSync, truncateSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import t from 'tap';
import type { Extent, StoredFile } from '../../../src/snapshots/content/content-tree.js';
import { readStored } from '../../../src/snapshots/content/stored-reading.js';
import { Random, RandomBytes, testSeed } from '../../support/random.js';
import { scratchFolder } from '../../support/scratch.js';

function storedFile(size: number, extents: readonly Extent[]): StoredFile {
  return { path: 'disk', size, mode: 0o644, modifiedMs: 0, version: '', digest: undefined, extents };
}

void t.test('any part of a file that lies in pieces', (t) => {
  const random = new Random(testSeed(41));
  const noise = new RandomBytes(41);
  const folder = scratchFolder(t);
  const objects = ['a.pack', 'b.pack', 'c.0'].map((name) => ({ name, bytes: noise.next(100_000) }));
  for (const { name, bytes } of objects) writeFileSync(join(folder, name), bytes);
  const size = 1_000_000;
  const expected = Buffer.alloc(size);
  const extents: Extent[] = [];
  for (let position = 0; position < size;) {
    if (random.chance(0.3)) position = Math.min(size, position + random.below(9000));
    const { name: object, bytes } = random.pick(objects);
    const length = Math.min(1 + random.below(9000), size - position);
    if (length === 0) break;
    const offset = random.below(bytes.length - length);
    extents.push({ position, length, object, offset });
    bytes.copy(expected, position, offset, offset + length);
    position += length;
  }
  const file = storedFile(size, extents);
  const isSame = (position: number, length: number): boolean =>
    readStored(folder, file, position, length).equals(expected.subarray(position, position + length));
  t.ok(isSame(0, size));
  const wrong = Array.from(
    { length: 500 },
    () => [random.below(size + 10), random.below(30_000)] as const,
  ).filter(([position, length]) => !isSame(position, length));
  t.same(wrong, []);
  t.equal(readStored(folder, file, size + 1, 5).length, 0);
  t.same(readStored(folder, storedFile(10, []), 3, 50), Buffer.alloc(7), 'nothing but zeros');
  t.end();
});

void t.test('objects that are missing, too short or none are damage', (t) => {
  const content = join(scratchFolder(t), 'content');
  mkdirSync(content);
  writeFileSync(join(content, 'a.pack'), 'content');
  writeFileSync(join(content, '..', 'secret'), 'content');
  const read = (object: string): Buffer =>
    readStored(content, storedFile(7, [{ position: 0, length: 7, object, offset: 0 }]), 0, 7);
  t.equal(read('a.pack').toString(), 'content');
  truncateSync(join(content, 'a.pack'), 6);
  t.throws(() => read('a.pack'), { status: 409, message: /damaged.*too short/ });
  t.throws(() => read('b.pack'), { status: 409, message: /damaged.*missing/ });
  for (const name of ['../secret', '..', '.', '', 'a/b', '/etc/passwd', 'a\0'])
    t.throws(() => read(name), { status: 409, message: /damaged/ }, name);
  symlinkSync('../secret', join(content, 'link'));
  t.throws(() => read('link'), { code: 'ELOOP' });
  t.end();
});
