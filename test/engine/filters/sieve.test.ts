import t from 'tap';
import type { BpfProgram } from '../../../src/engine/wire/bpf.js';
import { FilterRig } from '../../support/filter-rig.js';
import { numbered, numbersOf, upTo } from '../../support/live-engine.js';

/** Matches frames whose last octet of the first four is `value`. */
const fourthOctetIs = (value: number): BpfProgram => ({
  // ldb [3]; jeq #value, 0, 1; ret #65535; ret #0
  instructions: Uint32Array.of(0x30, 0, 0, 3, 0x15, 0, 1, value, 0x06, 0, 0, 65_535, 0x06, 0, 0, 0),
});

void t.test('frames that one of the programs matches are dropped', (t) => {
  const programs = [fourthOctetIs(3), fourthOctetIs(5)];
  const [one, two] = [programs.slice(0, 1), programs].map(
    (some) => new FilterRig([{ type: 'bpf', programs: some }]),
  );
  one?.pass(numbered(0, 8));
  two?.pass(numbered(0, 8));
  t.same(numbersOf(one?.taken() ?? []), [0, 1, 2, 4, 5, 6, 7]);
  t.same(numbersOf(two?.taken() ?? []), [0, 1, 2, 4, 6, 7]);
  t.same(two?.counters, { filter_bpf: 2 });
  t.end();
});

void t.test('a program that cannot be run is refused before anything passes', (t) => {
  const programs = [{ instructions: Uint32Array.of(0xffff, 0, 0, 0) }];
  t.throws(() => new FilterRig([{ type: 'bpf', programs }]), RangeError);
  t.end();
});

void t.test('every so manieth frame is dropped, across batches', (t) => {
  const rig = new FilterRig([{ type: 'frequency_drop', every: 3 }]);
  for (const from of [0, 4, 8]) rig.pass(numbered(from, 4));
  t.same(
    numbersOf(rig.taken()),
    upTo(12).filter((number) => number % 3 !== 2),
  );
  t.same(rig.counters, { filter_frequency: 4 });
  t.end();
});

void t.test('a frequency of 1 or -1 drops everything', (t) => {
  for (const every of [1, -1]) {
    const rig = new FilterRig([{ type: 'frequency_drop', every }]);
    rig.pass(numbered(0, 300));
    t.same(rig.batches, [], 'nothing is delivered, not even an empty batch');
    t.same(rig.counters, { filter_frequency: 300 });
  }
  t.end();
});

void t.test('a loss of 0 % loses nothing, 99 % is not 100 %, and 100 % is everything', (t) => {
  const FRAMES = 20_000;
  const lossAt = (percent: number): number => {
    const rig = new FilterRig([{ type: 'packet_loss', percent }], 42);
    rig.pass(numbered(0, FRAMES, 4));
    t.equal(rig.delivered.length + rig.count('filter_loss'), FRAMES);
    return rig.count('filter_loss');
  };
  t.equal(lossAt(0), 0);
  t.equal(lossAt(100), FRAMES);
  for (const percent of [1, 10, 50, 99]) {
    const expected = (FRAMES * percent) / 100;
    const deviation = Math.sqrt(expected * (1 - percent / 100));
    const lost = lossAt(percent);
    t.ok(Math.abs(lost - expected) < 4 * deviation, `${percent} %: ${lost}`);
  }
  t.end();
});

void t.test('losses come by chance: after a lost frame the next is lost as often as any', (t) => {
  const FRAMES = 20_000;
  const rig = new FilterRig([{ type: 'packet_loss', percent: 20 }], 7);
  rig.pass(numbered(0, FRAMES, 4));
  const passed = new Set(numbersOf(rig.taken()));
  const pairs = upTo(FRAMES - 1).filter((number) => !passed.has(number) && !passed.has(number + 1)).length;
  t.ok(Math.abs(pairs - FRAMES * 0.04) < 150, `${pairs}`);
  t.end();
});
