import t from 'tap';
import { ConsolePorts } from '../../src/lab/console-ports.js';

const RANGE = [5000, 5100] as const;
const [first, last] = RANGE;

void t.test('a wanted port is given when it is free and in range, else the lowest free one', (t) => {
  const ports = new ConsolePorts(RANGE);
  t.equal(ports.reserve(first + 2), first + 2);
  t.equal(ports.reserve(first + 2), first);
  t.equal(ports.reserve(null), first + 1);
  t.equal(ports.reserve(undefined), first + 3);
  t.equal(ports.reserve(first - 1), first + 4);
  t.equal(ports.reserve(last + 1), first + 5);
  t.equal(ports.reserve(last), last);
  t.same(ports.reserved, [...Array.from({ length: 6 }, (_, index) => first + index), last]);
  t.end();
});

void t.test('a released port is the next to be given', (t) => {
  const ports = new ConsolePorts(RANGE);
  for (let index = 0; index < 5; index++) ports.reserve(null);
  ports.release(first + 3);
  ports.release(first + 1);
  ports.release(first + 1);
  ports.release(last);
  t.same([ports.reserve(null), ports.reserve(null), ports.reserve(null)], [first + 1, first + 3, first + 5]);
  t.end();
});

void t.test('when all are taken there is none, until one is released', (t) => {
  const ports = new ConsolePorts(RANGE);
  const given = Array.from({ length: last - first + 1 }, () => ports.reserve(null));
  t.same([given[0], given.at(-1), new Set(given).size], [first, last, given.length]);
  t.equal(ports.reserve(null), null);
  t.equal(ports.reserve(first), null);
  ports.release(first + 77);
  t.equal(ports.reserve(first), first + 77);
  t.end();
});
