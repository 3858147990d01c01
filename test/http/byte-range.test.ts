import t from 'tap';
import { listsTag, parseRange } from '../../src/http/headers.js';

void t.test('one range of a file', (t) => {
  const cases: [string, number, ReturnType<typeof parseRange>][] = [
    ['bytes=0-0', 10, { start: 0, end: 1 }],
    ['bytes=2-5', 10, { start: 2, end: 6 }],
    ['bytes=2-', 10, { start: 2, end: 10 }],
    ['bytes=9-', 10, { start: 9, end: 10 }],
    ['bytes=2-99999999999999999999', 10, { start: 2, end: 10 }],
    ['bytes=-3', 10, { start: 7, end: 10 }],
    ['bytes=-30', 10, { start: 0, end: 10 }],
    [' Bytes = 1 - 2 ', 10, { start: 1, end: 3 }],
    ['bytes=10-', 10, 'unsatisfiable'],
    ['bytes=10-20', 10, 'unsatisfiable'],
    ['bytes=-0', 10, 'unsatisfiable'],
    ['bytes=0-', 0, 'unsatisfiable'],
    ['bytes=-5', 0, 'unsatisfiable'],
    ['', 10, undefined],
    ['bytes=-', 10, undefined],
    ['bytes=5-2', 10, undefined],
    ['bytes=0-1,3-4', 10, undefined],
    ['bytes=a-b', 10, undefined],
    ['bytes=-1-2', 10, undefined],
    ['lines=0-1', 10, undefined],
  ];
  for (const [header, size, expected] of cases) t.strictSame(parseRange(header, size), expected, header);
  t.end();
});

void t.test('a tag in a list of tags', (t) => {
  for (const header of ['"a-b"', 'W/"a-b"', '"x", "a-b"', '"x",W/"a-b" ', '*', ' * '])
    t.ok(listsTag(header, '"a-b"'));
  for (const header of ['', '"a"', 'a-b', '"a-b', '"x", "y"']) t.notOk(listsTag(header, '"a-b"'), header);
  t.end();
});
