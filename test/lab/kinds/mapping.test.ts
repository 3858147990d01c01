import t from 'tap';
import {
  checkInputsUsedOnce,
  isPortNumber,
  mappedPorts,
  mappingsOf,
  parseSide,
} from '../../../src/lab/kinds/mapping.js';

void t.test('a side is a list of numbers, the port first', (t) => {
  t.same(parseSide('1:0:100'), [1, 0, 100]);
  t.same(parseSide('007'), [7]);
  for (const text of [
    '',
    ':',
    '1:',
    ':1',
    '1::2',
    '-1',
    '1.5',
    'a',
    ' 1',
    '1 ',
    '1\n',
    '1:1e3',
    '1234567890',
  ]) {
    t.equal(parseSide(text), undefined, JSON.stringify(text));
  }
  t.end();
});

void t.test('there are only so many mappings', (t) => {
  const schema = mappingsOf(() => undefined);
  const given = (count: number): Record<string, string> =>
    Object.fromEntries(Array.from({ length: count }, (_, index) => [`1:${index}`, `2:${index}`]));
  t.equal(schema.safeParse(given(16_384)).success, true);
  t.match(schema.safeParse(given(16_385)).error?.issues, [
    { message: 'there may be at most 16384 mappings' },
  ]);
  t.end();
});

void t.test('a port number has sixteen bits', (t) => {
  t.same([0, 65_535, 65_536, undefined].map(isPortNumber), [true, true, false, false]);
  t.end();
});

void t.test('a repeated or mirrored entry means nothing more', (t) => {
  checkInputsUsedOnce({ '1:1': '2:2', '2:2': '1:1', '01:1': '2:02' });
  checkInputsUsedOnce({ '1:1': '1:1' });
  t.throws(
    () => {
      checkInputsUsedOnce({ '1:1': '2:2', '2:2': '3:3' });
    },
    { status: 409, message: 'Mapping 2:2 to 3:3: 2:2 is already mapped to 1:1' },
  );
  t.end();
});

void t.test('every named port is there once, in numerical order', (t) => {
  const ports = mappedPorts({ mappings: { '10:1': '9:1', '9:2': '10:2' } }, { X: 'DLT_X' });
  t.match(ports, [{ port_number: 9, data_link_types: { X: 'DLT_X' } }, { port_number: 10 }]);
  t.equal(ports.length, 2);
  t.end();
});
