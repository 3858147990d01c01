import t from 'tap';
import { LogReader, LogMemory } from '../../../src/captures/log/log-reader.js';
import { lastBoundary, nextBoundary } from '../../../src/captures/writing/log-drain.js';
import { LogScribe, memoryOf, recordOf } from '../../support/log-scribe.js';
import { seededRandom } from '../../support/seeded-random.js';

for (const format of ['pcap', 'pcapng'] as const) {
  void t.test(`the boundaries of ${format} records are found from any other`, (t) => {
    const memory = memoryOf(64);
    new LogReader({ memory, index: 0 }).prepare();
    const log = new LogMemory(memory, 0);
    const scribe = new LogScribe(memory, 0);
    const boundaries = [0];
    for (let number = 0; number < 1500; number++) {
      scribe.put(recordOf(number, format, 3000));
      boundaries.push(scribe.head);
    }
    const random = seededRandom(5);
    for (let tries = 0; tries < 300; tries++) {
      const first = Math.floor(random() * 1500);
      const from = boundaries[first] ?? 0;
      t.equal(nextBoundary(log, format, from), boundaries[first + 1]);
      const limit = Math.min(from + Math.floor(random() ** 3 * 200_000), scribe.head);
      const expected = boundaries.filter((boundary) => boundary <= limit).at(-1);
      t.equal(lastBoundary(log, format, from, limit), expected);
    }
    t.equal(lastBoundary(log, format, 0, scribe.head), scribe.head);
    t.equal(lastBoundary(log, format, scribe.head, scribe.head), scribe.head);
    t.equal(lastBoundary(log, format, 0, -100), 0, 'a limit that is passed already moves nothing');
    t.end();
  });
}

void t.test('a block of no length is no loop without end', (t) => {
  const memory = memoryOf(2);
  new LogReader({ memory, index: 0 }).prepare();
  new LogScribe(memory, 0).put(Buffer.alloc(64));
  t.throws(() => lastBoundary(new LogMemory(memory, 0), 'pcapng', 0, 64), { message: /0 bytes/ });
  t.end();
});
