import t from 'tap';
import { FilterRig } from '../../support/filter-rig.js';
import { RandomBytes } from '../../support/random.js';

const frames = (count: number, length: number): Buffer[] => {
  const bytes = new RandomBytes(length);
  return Array.from({ length: count }, () => bytes.next(length));
};

const isAltered = (frame: Buffer, original: Buffer): boolean => !frame.equals(original);

void t.test('so many frames are altered, each in one short place, and all go on in order', (t) => {
  const FRAMES = 10_000;
  const rig = new FilterRig([{ type: 'corrupt', percent: 30 }], 5);
  const sent = frames(FRAMES, 100);
  rig.pass(sent);
  const received = rig.taken();
  t.equal(received.length, FRAMES);
  const places = new Set<number>();
  let altered = 0;
  for (const [index, frame] of received.entries()) {
    const original = sent[index] ?? Buffer.alloc(0);
    if (!isAltered(frame, original)) continue;
    altered++;
    const others = [...frame.keys()].filter((at) => frame[at] !== original[at]);
    const [first = 0] = others;
    if (others.length > 4 || (others.at(-1) ?? 0) - first !== others.length - 1) t.fail(others.join());
    if (frame.length !== original.length) t.fail('its length has changed');
    places.add(first);
  }
  t.equal(altered, rig.count('corrupted'));
  t.ok(Math.abs(altered - FRAMES * 0.3) < 4 * Math.sqrt(FRAMES * 0.3 * 0.7), `${altered}`);
  t.ok(places.size > 90, 'anywhere in the frame');
  t.equal(rig.waiting, 0);
  t.end();
});

void t.test('at 100 % every frame is another than before, however short', (t) => {
  for (const length of [1, 2, 3, 4, 5, 1500]) {
    const rig = new FilterRig([{ type: 'corrupt', percent: 100 }], length);
    const sent = frames(500, length);
    rig.pass(sent);
    const altered = rig.taken().filter((frame, index) => isAltered(frame, sent[index] ?? frame));
    t.equal(altered.length, 500, `${length} octets`);
    t.same(rig.counters, { corrupted: 500 });
  }
  t.end();
});

void t.test('at 0 % none is', (t) => {
  const rig = new FilterRig([{ type: 'corrupt', percent: 0 }]);
  const sent = frames(500, 60);
  rig.pass(sent);
  t.same(rig.taken(), sent);
  t.same(rig.counters, {});
  t.end();
});

void t.test('frames that find no room for a copy are dropped and counted', (t) => {
  const rig = new FilterRig([{ type: 'corrupt', percent: 100 }], 1, 1000);
  rig.pass(frames(15, 100));
  t.equal(rig.taken().length, 10);
  t.same(rig.counters, { corrupted: 10, no_memory: 5 });
  t.equal(rig.waiting, 0);
  t.end();
});
