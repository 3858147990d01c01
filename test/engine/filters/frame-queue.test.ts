import t from 'tap';
import {
  FrameQueue,
  MOST_WAITING_FRAMES,
  MOST_WAITING_BYTES,
} from '../../../src/engine/filters/frame-queue.js';
import { Random, RandomBytes } from '../../support/random.js';

const LARGEST = 65_507;

void t.test('frames come out as they went in, in order, whatever their lengths', (t) => {
  const random = new Random(21);
  const from = new RandomBytes(22).next(1_000_000);
  const to = new Uint8Array(LARGEST + 100);
  const queue = new FrameQueue();
  const waiting: { frame: Buffer; dueAt: number }[] = [];
  let octets = 0;
  for (let round = 0; round < 40_000; round++) {
    // Grows for a while and shrinks for a while, down to nothing.
    const isGrowing = Math.floor(round / 4000) % 2 === 0;
    if (random.chance(isGrowing ? 0.6 : 0.3)) {
      const length = random.chance(0.01) ? random.below(LARGEST) : random.below(random.chance(0.1) ? 1 : 200);
      const offset = random.below(from.length - length);
      if (queue.add(from, offset, length, round)) {
        waiting.push({ frame: from.subarray(offset, offset + length), dueAt: round });
        octets += length;
      } else t.fail(`round ${round}: no room for ${length} with ${waiting.length} waiting`);
    } else {
      const first = waiting.shift();
      if (queue.dueAt !== (first?.dueAt ?? Infinity)) t.fail(`round ${round}: due at ${queue.dueAt}`);
      if (first === undefined) continue;
      const { length } = queue;
      if (random.chance(0.1)) queue.discard();
      else queue.move(to, 7);
      if (length !== first.frame.length) t.fail(`round ${round}: ${length} octets`);
    }
    if (queue.count !== waiting.length) t.fail(`round ${round}: ${queue.count} are waiting`);
  }
  t.ok(octets > 1_000_000);
  t.end();
});

void t.test('octets are not mixed up when memory grows, wraps and is given back', (t) => {
  const random = new Random(31);
  const from = new RandomBytes(32).next(300_000);
  const to = new Uint8Array(LARGEST);
  const queue = new FrameQueue();
  const waiting: Buffer[] = [];
  let checked = 0;
  const take = (): void => {
    const frame = waiting.shift();
    if (frame === undefined) return;
    const { length } = queue;
    queue.move(to, 0);
    if (!frame.equals(to.subarray(0, length))) t.fail(`frame ${checked} has changed`);
    checked++;
  };
  for (const most of [10, 3000, 5, 900, 1]) {
    for (let round = 0; round < 4 * most; round++) {
      const length = 1 + random.below(2000);
      const offset = random.below(from.length - length);
      if (!queue.add(from, offset, length, 0)) t.fail('no room');
      waiting.push(from.subarray(offset, offset + length));
      while (waiting.length > most) take();
    }
    while (waiting.length > 0) take();
    t.equal(queue.dueAt, Infinity);
  }
  t.ok(checked > 10_000);
  t.end();
});

void t.test('a queue has limits of frames and of bytes, and takes more when some have gone', (t) => {
  const frame = new Uint8Array(2048);
  const queue = new FrameQueue();
  let held = 0;
  while (queue.add(frame, 0, 60, held)) held++;
  t.equal(held, MOST_WAITING_FRAMES);
  queue.discard();
  t.equal(queue.dueAt, 1);
  t.ok(queue.add(frame, 0, 60, held));
  t.notOk(queue.add(frame, 0, 60, held));
  queue.clear();
  t.same([queue.count, queue.dueAt], [0, Infinity]);
  held = 0;
  while (queue.add(frame, 0, 2048, 0)) held++;
  t.equal(held, MOST_WAITING_BYTES / 2048);
  t.notOk(queue.add(frame, 0, 1, 0));
  while (queue.count > 0) queue.discard();
  t.ok(queue.add(frame, 0, 1, 0), 'it begins small again');
  t.end();
});
