import t from 'tap';
import { ConnectionCounters } from '../../../src/engine/control/running-device.js';
import { FreeList } from '../../../src/base/memory/free-list.js';
import { Random, testSeed } from '../../support/random.js';

const ROOM = 8;

function bench(room = ROOM): { values: Float64Array; free: FreeList; counters: ConnectionCounters } {
  const [values, free] = [new Float64Array(room), new FreeList(room)];
  return { values, free, counters: new ConnectionCounters(values, free) };
}

function countAt(values: Float64Array, index: number | undefined, by: number): void {
  values[index ?? -1] = (values[index ?? -1] ?? 0) + by;
}

void t.test('each connection keeps its counter as long as it exists', (t) => {
  const { values, counters } = bench();
  const [a, b, c] = counters.assign(['a', 'b', 'c']);
  t.equal(new Set([a, b, c]).size, 3);
  countAt(values, a, 5);
  countAt(values, c, 7);
  const [c2, d, a2] = counters.assign(['c', 'd', 'a']);
  t.same([a2, c2], [a, c], 'wherever it stands among the others');
  t.same([counters.read('a'), counters.read('c'), counters.read('d')], [5, 7, 0]);
  t.equal(counters.read('b'), 0, 'what is unknown has counted nothing');
  t.not(d, undefined);
  t.end();
});

void t.test('a counter that is used again starts at 0', (t) => {
  const { values, counters } = bench(1);
  const [first] = counters.assign(['first']);
  countAt(values, first, 9);
  counters.assign([]);
  const [second] = counters.assign(['second']);
  t.equal(second, first);
  t.equal(counters.read('second'), 0);
  countAt(values, second, 2);
  t.equal(counters.read('second'), 2);
  t.equal(values[0], 11, 'the value itself is only ever written where it counts');
  t.end();
});

void t.test('a name that comes twice has one counter', (t) => {
  const { free, counters } = bench();
  const [one, two] = counters.assign(['a', 'a']);
  t.equal(one, two);
  t.equal(free.take(), 1);
  t.end();
});

void t.test('a reset is for all connections, and for what comes after it', (t) => {
  const { values, counters } = bench();
  const [a, b] = counters.assign(['a', 'b']);
  countAt(values, a, 5);
  counters.reset();
  countAt(values, a, 1);
  countAt(values, b, 2);
  t.same([counters.read('a'), counters.read('b')], [1, 2]);
  counters.assign(['b', 'a']);
  t.same([counters.read('a'), counters.read('b')], [1, 2], 'and outlives a change of the others');
  t.end();
});

void t.test('when there is no room for all, nothing changes', (t) => {
  const { values, free, counters } = bench(3);
  const before = counters.assign(['a', 'b']);
  countAt(values, before[0], 4);
  t.throws(() => counters.assign(['a', 'c', 'd']), { name: 'RangeError', message: /in use$/ });
  t.equal(counters.read('a'), 4);
  t.same(counters.assign(['a', 'b']), before);
  t.equal(free.take(), 2, 'what was taken for it was given back');
  t.end();
});

void t.test('devices that share the room never share a counter', (t) => {
  const seed = testSeed(4101);
  t.comment(`seed ${seed}`);
  const random = new Random(seed);
  const [values, free] = [new Float64Array(60), new FreeList(60)];
  const devices = Array.from({ length: 4 }, () => new ConnectionCounters(values, free));
  const assigned = devices.map(() => [] as number[]);
  for (let step = 0; step < 1000; step++) {
    const which = random.below(devices.length);
    const names = Array.from({ length: random.below(12) }, () => `connection ${random.below(20)}`);
    assigned[which] = [...new Set(devices[which]?.assign(names))];
    const all = assigned.flat();
    if (new Set(all).size !== all.length) t.fail(`step ${step}: a counter has two owners`);
  }
  t.pass();
  t.end();
});
