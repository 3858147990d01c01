import t from 'tap';
import { RandomStream } from '../../../src/engine/filters/random-stream.js';
import { AT_ONCE, Laggards, NEVER, SerialLine } from '../../../src/engine/filters/timing.js';
import { upTo } from '../../support/live-engine.js';

void t.test('a line takes as long as its rate says, one frame after the other', (t) => {
  // 64 kbit/s is 8 octets a millisecond.
  const line = new SerialLine(64, 100);
  t.equal(line.dueAt(800, 1000, -Infinity), 1100);
  t.equal(line.dueAt(8, 1000, 1100), 1101, 'behind the one before');
  t.equal(line.dueAt(8, 5000, 1101), 5001, 'what was not used is gone');
  t.end();
});

void t.test('what would wait longer than the limit never goes', (t) => {
  const line = new SerialLine(64, 100);
  t.equal(line.dueAt(8, 1000, 1100), 1101);
  t.equal(line.dueAt(8, 1000, 1100.01), NEVER);
  t.end();
});

void t.test('so many of the frames are held', (t) => {
  const laggards = new Laggards(10, 25, new RandomStream(1, 1));
  const times = upTo(10_000).map((now) => laggards.dueAt(60, now));
  const held = times.flatMap((dueAt, now) => (dueAt === AT_ONCE ? [] : [dueAt - now]));
  t.ok(Math.abs(held.length - 1000) < 4 * 30, `${held.length}`);
  t.same([...new Set(held)], [25]);
  t.end();
});
