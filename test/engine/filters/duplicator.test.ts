import t from 'tap';
import { FilterRig } from '../../support/filter-rig.js';
import { numbered, numbersOf, upTo } from '../../support/live-engine.js';

const twice = (numbers: readonly number[]): number[] => numbers.flatMap((number) => [number, number]);

void t.test('copies come right behind their originals', (t) => {
  const rig = new FilterRig([{ type: 'duplicate', percent: 100 }]);
  rig.pass(numbered(0, 100));
  t.same(numbersOf(rig.taken()), twice(upTo(100)));
  t.same(rig.counters, { copies: 100 });
  t.same([rig.batches, rig.waiting], [[200], 0]);
  t.end();
});

void t.test('copies that do not fit into one batch follow at once, and nothing overtakes them', (t) => {
  const rig = new FilterRig([{ type: 'duplicate', percent: 100 }]);
  rig.pass(numbered(0, 200));
  t.same([rig.batches, rig.waiting], [[256], 144], 'one batch in, one batch out');
  rig.pass(numbered(200, 300));
  t.equal(rig.delivered.length, 256);
  rig.advance(rig.now);
  t.same(numbersOf(rig.taken()), twice(upTo(500)));
  t.same([rig.counters, rig.waiting], [{ copies: 500 }, 0]);
  t.end();
});

void t.test('the share of frames that is asked for is duplicated, and no other frame is copied', (t) => {
  const FRAMES = 20_000;
  const copiesAt = (percent: number): number => {
    const rig = new FilterRig([{ type: 'duplicate', percent }], 9);
    for (let from = 0; from < FRAMES; from += 100) {
      rig.pass(numbered(from, 100, 4));
      rig.advance(rig.now + 1);
    }
    const numbers = numbersOf(rig.taken());
    t.same([...new Set(numbers)], upTo(FRAMES));
    t.equal(numbers.length - FRAMES, rig.count('copies'));
    return rig.count('copies');
  };
  t.equal(copiesAt(0), 0);
  t.equal(copiesAt(100), FRAMES);
  const quarter = copiesAt(25);
  t.ok(Math.abs(quarter - FRAMES / 4) < 4 * Math.sqrt(FRAMES * 0.25 * 0.75), `${quarter}`);
  t.end();
});

void t.test('copies that find no room to wait are dropped and counted', (t) => {
  const rig = new FilterRig([{ type: 'duplicate', percent: 100 }]);
  rig.pass(numbered(0, 10_000));
  rig.advance(rig.now);
  const full = rig.count('delay_full');
  t.equal(full, 20_000 - 256 - 16_384);
  t.equal(rig.delivered.length, 20_000 - full);
  t.equal(rig.waiting, 0);
  t.end();
});
