import t from 'tap';
import { connectionsOf } from '../../../src/lab/kinds/mapped-connections.js';

void t.test('each entry is two connections, named by where they start', (t) => {
  t.same(connectionsOf({ mappings: { '1:0:100': '10:0:200', '1:5': '2:6' } }), [
    { name: '1:0:100', from: '1:0:100', to: '10:0:200', source: [1, 0, 100], destination: [10, 0, 200] },
    { name: '10:0:200', from: '10:0:200', to: '1:0:100', source: [10, 0, 200], destination: [1, 0, 100] },
    { name: '1:5', from: '1:5', to: '2:6', source: [1, 5], destination: [2, 6] },
    { name: '2:6', from: '2:6', to: '1:5', source: [2, 6], destination: [1, 5] },
  ]);
  t.end();
});

void t.test('an entry that repeats another, mirrored or with zeros in front, means nothing more', (t) => {
  const connections = connectionsOf({ mappings: { '1:5': '2:6', '2:6': '1:5', '01:05': '2:6' } });
  t.same(
    connections.map(({ name, from, to }) => [name, from, to]),
    [
      ['1:5', '1:5', '2:6'],
      ['2:6', '2:6', '1:5'],
    ],
  );
  t.end();
});

void t.test('a port that is joined with itself in one label is one connection', (t) => {
  t.equal(connectionsOf({ mappings: { '1:5': '1:5' } }).length, 1);
  t.equal(connectionsOf({ mappings: { '1:5': '1:6' } }).length, 2);
  t.end();
});

void t.test('mappings that older rules stored do no harm', (t) => {
  for (const mappings of [undefined, null, 7, 'x', [], { a: 'b' }, { '1:2': 3 }]) {
    t.same(connectionsOf({ mappings }), []);
  }
  t.end();
});
