import t from 'tap';
import { IntTable } from '../../../src/engine/devices/int-table.js';
import { Random, testSeed } from '../../support/random.js';

void t.test('a key that is not in the table has the value -1', (t) => {
  const table = new IntTable();
  t.equal(table.get(0), -1);
  t.equal(table.get(0x7fff_ffff), -1);
  table.delete(7);
  t.equal(table.size, 0);
  t.end();
});

void t.test('the last value that was set counts', (t) => {
  const table = new IntTable();
  table.set(0, 5);
  table.set(0, 0);
  table.set(0x7fff_ffff, 6);
  t.same([table.get(0), table.get(0x7fff_ffff), table.size], [0, 6, 2]);
  table.delete(0);
  t.same([table.get(0), table.get(0x7fff_ffff), table.size], [-1, 6, 1]);
  t.end();
});

/** Sorts of keys: labels that lie together, labels far apart, and any. */
const KEYS: Readonly<Record<string, (random: Random) => number>> = {
  'few neighbours': (random) => random.below(12),
  neighbours: (random) => random.below(600),
  'multiples of a power of two': (random) => random.below(300) * 65_536,
  'labels of channels': (random) => random.below(16) * 65_536 + random.below(64),
  anything: (random) => random.below(2 ** 31),
};

for (const [sort, keyOf] of Object.entries(KEYS)) {
  void t.test(`does as a map does, with ${sort} for keys`, (t) => {
    const random = new Random(testSeed(20_021));
    const table = new IntTable();
    const map = new Map<number, number>();
    const used: number[] = [];
    let wrong = 0;
    for (let round = 0; round < 60_000; round++) {
      // It grows for a while, then shrinks, and so on.
      const grows = round % 6000 < 3000;
      const key = used.length > 0 && random.chance(grows ? 0.3 : 0.9) ? random.pick(used) : keyOf(random);
      if (random.chance(grows ? 0.7 : 0.3)) {
        const value = random.below(2 ** 31);
        table.set(key, value);
        map.set(key, value);
        used.push(key);
      } else {
        table.delete(key);
        map.delete(key);
      }
      const asked = random.chance(0.5) ? key : keyOf(random);
      if (table.get(asked) !== (map.get(asked) ?? -1) || table.size !== map.size) wrong++;
      if (round % 3000 === 2999) {
        for (const one of used) if (table.get(one) !== (map.get(one) ?? -1)) wrong++;
      }
    }
    t.equal(wrong, 0);
    for (const key of [...map.keys()]) table.delete(key);
    t.equal(table.size, 0, 'all can be taken out again');
    t.same(
      used.filter((key) => table.get(key) !== -1),
      [],
    );
    t.end();
  });
}
