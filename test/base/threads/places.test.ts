import t from 'tap';
import { Places } from '../../../src/base/threads/places.js';

interface Holder {
  readonly name: string;
  isIdle: boolean;
  isEmpty: boolean;
}

const holder = (name: string): Holder => ({ name, isIdle: true, isEmpty: false });

function rig(count: number): { places: Places<Holder>; gone: string[] } {
  const gone: string[] = [];
  const places = new Places<Holder>({
    count,
    mayGiveWay: [({ isEmpty }) => isEmpty, ({ isIdle }) => isIdle],
    gaveWay: ({ name }) => gone.push(name),
  });
  return { places, gone };
}

void t.test('the holder with the oldest progress gives way', (t) => {
  const { places, gone } = rig(3);
  const [a, b, c] = [holder('a'), holder('b'), holder('c')];
  for (const one of [a, b, c]) t.ok(places.take(one, ''));
  t.same(gone, []);
  places.gotOn(a);
  t.ok(places.take(holder('d'), ''));
  t.same(gone, ['b']);
  c.isIdle = false;
  t.ok(places.take(holder('e'), ''));
  t.same(gone, ['b', 'a'], 'one that is busy does not');
  places.gotOn(b);
  places.leave(c);
  t.ok(places.take(holder('f'), ''), 'there is a place again');
  t.same(gone, ['b', 'a'], 'who has none cannot get one by getting on');
  t.end();
});

void t.test('holders that have nothing go before holders that do nothing', (t) => {
  const { places, gone } = rig(2);
  const [a, b] = [holder('a'), holder('b')];
  b.isEmpty = true;
  for (const one of [a, b]) places.take(one, '');
  places.take(holder('c'), '');
  t.same(gone, ['b']);
  t.end();
});

void t.test('nobody is put out who is busy', (t) => {
  const { places, gone } = rig(2);
  for (const name of ['a', 'b']) places.take({ ...holder(name), isIdle: false }, '');
  t.notOk(places.take(holder('c'), ''));
  t.same(gone, []);
  t.end();
});

void t.test('a client with more than half of the places gives way to others, and to itself', (t) => {
  const { places, gone } = rig(4);
  places.take(holder('honest'), '10.0.0.1');
  for (const name of ['a', 'b', 'c']) places.take(holder(name), '10.0.0.2');
  places.take(holder('d'), '10.0.0.2');
  t.same(gone, ['a'], 'though the other has got on less lately');
  places.take(holder('second'), '10.0.0.1');
  t.same(gone, ['a', 'b']);
  places.take(holder('third'), '10.0.0.3');
  t.same(gone, ['a', 'b', 'honest'], 'nobody has more than half now');
  t.end();
});

void t.test('a client with more than half of the places puts nobody else out', (t) => {
  const { places, gone } = rig(4);
  places.take(holder('honest'), '10.0.0.1');
  for (const name of ['a', 'b', 'c']) places.take({ ...holder(name), isIdle: false }, '10.0.0.2');
  t.notOk(places.take(holder('d'), '10.0.0.2'));
  t.same(gone, []);
  t.ok(places.take(holder('second'), '10.0.0.3'), 'others still may');
  t.same(gone, ['honest']);
  t.end();
});

void t.test('it gives way to others with what it keeps from itself, too', (t) => {
  const gone: string[] = [];
  const places = new Places<Holder>({
    count: 4,
    mayGiveWay: [({ isEmpty }) => isEmpty],
    mayGiveWayToOthers: [({ isIdle }) => isIdle, () => true],
    gaveWay: ({ name }) => gone.push(name),
  });
  places.take({ ...holder('honest'), isEmpty: true }, '10.0.0.1');
  for (const name of ['a', 'b', 'c']) places.take({ ...holder(name), isIdle: name !== 'a' }, '10.0.0.2');
  t.notOk(places.take(holder('d'), '10.0.0.2'));
  t.ok(places.take(holder('second'), '10.0.0.1'));
  t.same(gone, ['b'], 'before anything of others, and what is busy comes last');
  t.end();
});

void t.test('places of nobody known are not taken for those of one', (t) => {
  const gone: string[] = [];
  const places = new Places<Holder>({
    count: 2,
    mayGiveWay: [],
    mayGiveWayToOthers: [() => true],
    gaveWay: ({ name }) => gone.push(name),
  });
  for (const name of ['a', 'b']) places.take(holder(name), '');
  t.notOk(places.take(holder('c'), '10.0.0.1'));
  t.same(gone, []);
  t.end();
});
