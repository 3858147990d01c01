import { hash } from 'node:crypto';
import t from 'tap';
import { ChunkTable, RECORD_LENGTH } from '../../../src/snapshots/content/chunk-table.js';

const digestOf = (number: number): Buffer => hash('sha256', String(number), 'buffer');

void t.test('thousands of chunks of several objects', (t) => {
  const table = new ChunkTable();
  t.equal(table.find(digestOf(0), 1), undefined);
  for (let number = 0; number < 5000; number++) {
    const object = number < 2500 ? 'a.pack' : 'b.pack';
    table.add(digestOf(number), 1 + number, { object, offset: number * 2 ** 33 });
  }
  t.equal(table.count, 5000);
  for (let number = 0; number < 5000; number++) {
    const place = { object: number < 2500 ? 'a.pack' : 'b.pack', offset: number * 2 ** 33 };
    t.same(table.find(digestOf(number), 1 + number), place);
  }
  t.equal(table.find(digestOf(5000), 5001), undefined);
  t.equal(table.find(digestOf(1), 1), undefined, 'of another length');

  const others = new ChunkTable();
  others.add(digestOf(4999), 5000, { object: 'c.pack', offset: 7 });
  const records = table.recordsFrom(2500);
  t.equal(records.length, 2500 * RECORD_LENGTH);
  others.addRecords('b.pack', records, (start) => start >= 4000 * 2 ** 33);
  t.equal(others.count, 1000);
  t.same(others.find(digestOf(4999), 5000), { object: 'c.pack', offset: 7 }, 'the first is kept');
  t.same(others.find(digestOf(4000), 4001), { object: 'b.pack', offset: 4000 * 2 ** 33 });
  t.equal(others.find(digestOf(3999), 4000), undefined, 'what is not relied upon is not found');
  t.end();
});
