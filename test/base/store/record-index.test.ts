import t from 'tap';
import type { JournalEntry } from '../../../src/base/store/journal-format.js';
import { RecordIndex } from '../../../src/base/store/record-index.js';
import { Random } from '../../support/random.js';

const PARTS = ['a', 'b', 'aa', '__proto__', 'é', '0'];

function entry(kind: JournalEntry['kind'], key: readonly string[], position = 0): JournalEntry {
  return { kind, key, place: { position, length: 1, checksum: 0 }, bytes: 10 + position };
}

void t.test('an index holds what a plain list of records holds, whatever was done to it', (t) => {
  const random = new Random(5);
  const index = new RecordIndex();
  let model = new Map<string, JournalEntry>();
  for (let round = 0; round < 3000; round++) {
    const key = Array.from({ length: 1 + random.below(3) }, () => random.pick(PARTS));
    const path = `${key.join('/')}/`;
    const kind = random.chance(0.7) ? 'put' : random.pick(['remove', 'clear'] as const);
    const change = entry(kind, key, round);
    const gone = [...model].filter(([name]) => (kind === 'clear' ? name.startsWith(path) : name === path));
    t.equal(
      index.bytesOf(change),
      gone.reduce((sum, [, { bytes }]) => sum + bytes, 0),
      'what a change takes away',
    );
    index.apply(change);
    if (kind === 'put') model.set(path, change);
    else model = new Map([...model].filter(([name]) => !gone.some(([other]) => other === name)));
    t.equal(
      index.bytes,
      [...model.values()].reduce((sum, { bytes }) => sum + bytes, 0),
    );
    const prefix = key.slice(0, random.below(3));
    const expected = [...model.values()].filter(({ key }) =>
      prefix.every((part, depth) => key[depth] === part),
    );
    const found = [...index.under(prefix)];
    t.equal(found.length, expected.length);
    t.ok(found.every(({ key, place }) => model.get(`${key.join('/')}/`)?.place === place));
  }
  for (const part of PARTS) index.apply(entry('clear', [part]));
  t.equal(index.bytes, 0);
  t.same([...index.under([])], []);
  t.end();
});
