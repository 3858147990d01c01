import t from 'tap';
import { Transaction } from '../../../src/lab/projects/transaction.js';

void t.test('keeps changes in order and publishes in order', (t) => {
  const transaction = new Transaction();
  const log: string[] = [];
  transaction.store({ put: ['a'], value: 1 });
  transaction.onStored(() => log.push('first'));
  transaction.store({ remove: ['b'] });
  transaction.onStored(() => log.push('second'));
  t.same(transaction.changes, [{ put: ['a'], value: 1 }, { remove: ['b'] }]);
  t.same(log, [], 'nothing is published before it is stored');
  transaction.publishAll();
  t.same(log, ['first', 'second']);
  t.end();
});

void t.test('an attempt returns what its work returned', (t) => {
  const transaction = new Transaction();
  t.equal(
    transaction.attempt((given) => given === transaction),
    true,
  );
  t.end();
});

void t.test('a failed attempt takes back its own changes, the last first, and no others', (t) => {
  const transaction = new Transaction();
  const log: string[] = [];
  const note = (name: string): void => {
    transaction.store({ remove: [name] });
    transaction.onUndo(() => log.push(`undid ${name}`));
    transaction.onStored(() => log.push(`told ${name}`));
  };
  transaction.attempt(() => {
    note('kept');
  });
  t.throws(
    () =>
      transaction.attempt(() => {
        note('one');
        note('two');
        throw new Error('no');
      }),
    new Error('no'),
  );
  t.same(log, ['undid two', 'undid one']);
  t.same(transaction.changes, [{ remove: ['kept'] }]);
  transaction.publishAll();
  t.same(log.slice(2), ['told kept']);
  t.end();
});

void t.test('undoing all of it runs every step once, the last first', (t) => {
  const transaction = new Transaction();
  const log: number[] = [];
  for (const step of [1, 2, 3]) transaction.onUndo(() => log.push(step));
  transaction.undoAll();
  transaction.undoAll();
  t.same(log, [3, 2, 1]);
  t.end();
});
