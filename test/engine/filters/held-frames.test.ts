import t from 'tap';
import { COUNTER, hitCounter } from '../../../src/base/memory/port-counters.js';
import { FrameMemory } from '../../../src/engine/forwarding/frame-memory.js';
import { HeldFrames } from '../../../src/engine/filters/timed-stage.js';
import { Schedule, type Due } from '../../../src/engine/filters/schedule.js';
import type { Stage } from '../../../src/engine/filters/stage.js';
import { PortBooks } from '../../support/port-books.js';

const SLAB = 65_536;

/** Knows how often something is in it. */
class CountingSchedule extends Schedule {
  entries = 0;

  override add(due: Due): void {
    super.add(due);
    this.entries++;
  }

  override remove(due: Due): void {
    super.remove(due);
    this.entries--;
  }
}

/** A hold in front of a stage that keeps how many frames it was given, and what the test makes of that. */
function holdOf(workspace = SLAB, onPass: (hold: HeldFrames) => void = () => undefined) {
  const books = new PortBooks(1);
  const memory = new FrameMemory(new Uint8Array(SLAB + workspace), SLAB);
  const schedule = new CountingSchedule();
  const events: (number | 'settled')[] = [];
  const next: Stage = {
    pass: ({ count }) => {
      events.push(count);
      onPass(hold);
    },
  };
  const deliverPending = (): void => {
    events.push('settled');
    memory.endTurn();
  };
  const hold = new HeldFrames(
    { port: books.newPort(0), hits: hitCounter('inward', 0), memory, schedule, deliverPending },
    next,
  );
  const keep = (count: number, dueAt: number, length = 60): void => {
    for (let frame = 0; frame < count; frame++) {
      if (!hold.keep(0, length, dueAt)) throw new Error('there is no room');
    }
  };
  return { books, schedule, events, hold, keep, next };
}

void t.test('held frames are in the schedule with the time of the first', (t) => {
  const { schedule, events, hold, keep } = holdOf();
  t.same([hold.isEmpty, schedule.next], [true, Infinity]);
  keep(2, 10);
  keep(3, 20);
  t.same([hold.isEmpty, schedule.next], [false, 10]);
  schedule.run(9);
  t.same(events, []);
  schedule.run(10);
  t.same([events, schedule.next], [[2, 'settled'], 20]);
  schedule.run(20);
  t.same([events, schedule.next, hold.isEmpty], [[2, 'settled', 3, 'settled'], Infinity, true]);
  keep(1, 30);
  t.equal(schedule.next, 30);
  t.end();
});

void t.test('each batch is a turn of its own, and a run delivers so many at most', (t) => {
  const { schedule, events, keep } = holdOf();
  keep(2000, 10);
  schedule.run(10);
  t.same(events, [256, 'settled', 256, 'settled', 256, 'settled', 256, 'settled']);
  t.equal(schedule.next, 10, 'it stays due');
  events.length = 0;
  schedule.run(10);
  t.same(events, [256, 'settled', 256, 'settled', 256, 'settled', 208, 'settled']);
  t.equal(schedule.next, Infinity);
  t.end();
});

void t.test('a batch takes no more than the workspace has room for', (t) => {
  const { books, schedule, events, keep } = holdOf(1000);
  keep(25, 10, 100);
  schedule.run(10);
  t.same(events, [10, 'settled', 10, 'settled', 5, 'settled']);
  keep(1, 10, 1001);
  keep(1, 10, 1000);
  schedule.run(10);
  t.same(events.slice(6), [1, 'settled']);
  t.equal(books.values[COUNTER.no_memory], 1, 'what never fits is dropped');
  t.end();
});

void t.test('frames that come back while it is run wait for the next time', (t) => {
  const { schedule, events, keep } = holdOf(SLAB, (hold) => {
    hold.keep(0, 60, 11);
  });
  keep(1, 10);
  for (const now of [10, 11, 11]) schedule.run(now);
  t.same(events, [1, 'settled', 1, 'settled', 1, 'settled']);
  t.equal(schedule.next, 11);
  t.end();
});

void t.test('a flush sends everything elsewhere, at once', (t) => {
  const { schedule, events, hold, keep } = holdOf();
  keep(300, 10);
  keep(5, 9999);
  const elsewhere: number[] = [];
  hold.flush({ pass: ({ count }) => elsewhere.push(count) });
  t.same(
    [elsewhere, events],
    [
      [256, 49],
      ['settled', 'settled'],
    ],
  );
  t.same([hold.isEmpty, schedule.next, schedule.entries], [true, Infinity, 0]);
  t.end();
});

void t.test('a drop counts what waited', (t) => {
  const { books, schedule, events, hold, keep } = holdOf();
  keep(300, 10);
  hold.drop();
  t.equal(books.values[COUNTER.held_back], 300);
  schedule.run(10);
  t.same([events, hold.isEmpty, schedule.next, schedule.entries], [[], true, Infinity, 0]);
  t.end();
});
