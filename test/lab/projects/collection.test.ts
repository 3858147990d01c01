import t from 'tap';
import { Channel } from '../../../src/base/streams/channel.js';
import { Collection } from '../../../src/lab/projects/collection.js';
import { Transaction } from '../../../src/lab/projects/transaction.js';

interface Thing {
  readonly id: string;
  readonly size: number;
}

interface Made {
  readonly things: Collection<Thing>;
  /** The events so far. */
  readonly told: () => readonly unknown[];
}

function make(): Made {
  const channel = new Channel();
  const events: unknown[] = [];
  channel.subscribe((line) => events.push(JSON.parse(line)));
  const things = new Collection<Thing>('thing', (id) => ['thing', id], channel, JSON.stringify);
  const told = (): readonly unknown[] => {
    // The channel tells the rest in later turns when this one takes long.
    channel.tellUntil(Infinity);
    return events;
  };
  return { things, told };
}

const thing = (id: string, size = 1): Thing => ({ id, size });

const listOf = (things: Collection<Thing>): unknown =>
  JSON.parse(Buffer.from(things.publishedList()).toString());

void t.test('a new object is stored with its place in the order, and read only once it is stored', (t) => {
  const { things, told } = make();
  const transaction = new Transaction();
  t.equal(
    things.put(transaction, 'a', thing('a'), { action: 'created' }),
    JSON.stringify(thing('a')),
    'the text is answered',
  );
  things.put(transaction, 'b', thing('b'), { action: 'created' });
  t.same(things.get('a'), thing('a'), 'later requests of the commit see it');
  t.equal(things.published('a'), undefined, 'readers do not');
  t.same(listOf(things), []);
  t.same(transaction.changes, [
    { put: ['thing', 'a'], value: { order: 0, object: thing('a') } },
    { put: ['thing', 'b'], value: { order: 1, object: thing('b') } },
  ]);
  t.same(told(), []);
  transaction.publishAll();
  t.same(listOf(things), [thing('a'), thing('b')]);
  t.same(told(), [
    { action: 'thing.created', event: thing('a') },
    { action: 'thing.created', event: thing('b') },
  ]);
  t.end();
});

void t.test('a changed object keeps its place', (t) => {
  const { things, told } = make();
  const first = new Transaction();
  for (const id of ['a', 'b', 'c']) things.put(first, id, thing(id));
  first.publishAll();
  t.same(told(), [], 'what is put without an announcement is announced to nobody');
  const second = new Transaction();
  things.put(second, 'b', thing('b', 2), { action: 'updated', event: '{"id":"b"}' });
  second.publishAll();
  t.same(second.changes, [{ put: ['thing', 'b'], value: { order: 1, object: thing('b', 2) } }]);
  t.same(listOf(things), [thing('a'), thing('b', 2), thing('c')]);
  t.same(told(), [{ action: 'thing.updated', event: { id: 'b' } }], 'the event may say less than the object');
  t.end();
});

void t.test('undoing restores the working objects, and readers never saw another', (t) => {
  const { things } = make();
  const first = new Transaction();
  things.put(first, 'a', thing('a'));
  things.put(first, 'b', thing('b'));
  first.publishAll();
  const failing = new Transaction();
  things.put(failing, 'a', thing('a', 9));
  things.put(failing, 'c', thing('c'));
  things.remove(failing, 'b');
  things.remove(failing, 'a');
  t.equal(things.get('a'), undefined);
  t.equal(things.size, 1);
  failing.undoAll();
  t.same([...things.values()].map(({ id, size }) => [id, size]).sort(), [
    ['a', 1],
    ['b', 1],
  ]);
  t.same(listOf(things), [thing('a'), thing('b')]);
  t.end();
});

void t.test('the list is made once, and anew after each change that is stored or taken over', (t) => {
  const { things } = make();
  const stored = (change: (transaction: Transaction) => void): void => {
    const transaction = new Transaction();
    change(transaction);
    const before = things.publishedList();
    transaction.publishAll();
    t.not(things.publishedList(), before);
  };
  stored((transaction) => things.put(transaction, 'a', thing('a')));
  t.equal(things.publishedList(), things.publishedList());
  stored((transaction) => things.put(transaction, 'a', thing('a', 2)));
  t.same(listOf(things), [thing('a', 2)]);
  stored((transaction) => {
    things.refresh(transaction, 'a');
  });
  const keeper = things.keeper(['thing']);
  keeper.takeOver(['thing', 'b'], { order: 1, object: thing('b') });
  t.same(listOf(things), [thing('a', 2), thing('b')]);
  keeper.takeOver(['thing', 'b'], undefined);
  t.same(listOf(things), [thing('a', 2)]);
  stored((transaction) => {
    things.remove(transaction, 'a');
  });
  t.same(listOf(things), []);
  t.end();
});

void t.test('an order that was given once is not given again', (t) => {
  const { things } = make();
  const first = new Transaction();
  things.put(first, 'a', thing('a'));
  things.put(first, 'b', thing('b'));
  things.remove(first, 'b');
  const second = new Transaction();
  things.put(second, 'c', thing('c'));
  t.match(second.changes, [{ value: { order: 2 } }]);
  t.end();
});

void t.test('a removed object is announced as it was last', (t) => {
  const { things, told } = make();
  const transaction = new Transaction();
  things.put(transaction, 'a', thing('a', 5));
  transaction.publishAll();
  const removal = new Transaction();
  things.remove(removal, 'a');
  things.remove(removal, 'a');
  t.same(removal.changes, [{ remove: ['thing', 'a'] }], 'the second time there is nothing to remove');
  t.equal(things.published('a'), JSON.stringify(thing('a', 5)), 'readable until it is stored');
  removal.publishAll();
  t.equal(things.published('a'), undefined);
  t.same(told(), [{ action: 'thing.deleted', event: thing('a', 5) }]);
  t.end();
});

void t.test('loaded objects come before new ones and are announced when they are published', (t) => {
  const { things, told } = make();
  things.loadBuiltin('first', thing('first'));
  things.load('a', { order: 4, object: thing('a') });
  t.same(listOf(things), []);
  things.publishLoaded();
  t.same(told(), [
    { action: 'thing.created', event: thing('first') },
    { action: 'thing.created', event: thing('a') },
  ]);
  t.same([...things.publishedTexts()], [JSON.stringify(thing('first')), JSON.stringify(thing('a'))]);
  const transaction = new Transaction();
  things.put(transaction, 'b', thing('b'));
  t.match(transaction.changes, [{ value: { order: 5 } }]);
  t.end();
});

void t.test('a refreshed object is shown anew without being stored or announced', (t) => {
  const channel = new Channel();
  let shown = 'before';
  const things = new Collection<Thing>(
    'thing',
    (id) => [id],
    channel,
    ({ id }) => `${id} ${shown}`,
  );
  things.load('a', { order: 0, object: thing('a') });
  things.publishLoaded();
  const events: string[] = [];
  channel.subscribe((line) => events.push(line));
  const transaction = new Transaction();
  shown = 'after';
  things.refresh(transaction, 'a');
  things.refresh(transaction, 'unknown');
  t.equal(things.published('a'), 'a before');
  transaction.publishAll();
  t.equal(things.published('a'), 'a after');
  t.equal(things.published('unknown'), undefined);
  t.same(transaction.changes, []);
  channel.tellUntil(Infinity);
  t.same(events, []);
  t.end();
});
