import t from 'tap';
import { Channel, envelope } from '../../../src/base/streams/channel.js';
import { eventually } from '../../support/eventually.js';

void t.test('an event is one line of JSON in the envelope that clients know', (t) => {
  t.equal(envelope('node.created', '{"a":1}'), '{"action": "node.created", "event": {"a":1}}');
  t.equal(envelope('a', '1', 'p'), '{"action": "a", "event": 1, "project_id": "p"}');
  t.same(JSON.parse(envelope('ping', '{}')), { action: 'ping', event: {} });
  t.end();
});

void t.test('every listener receives every event, in order', (t) => {
  const channel = new Channel();
  const first: string[] = [];
  const second: string[] = [];
  channel.subscribe((line) => first.push(line));
  channel.emit('a', '1');
  channel.subscribe((line) => second.push(line));
  channel.emit('b', '2');
  t.same(first, [envelope('a', '1'), envelope('b', '2')]);
  t.same(second, [envelope('b', '2')]);
  t.equal(channel.size, 2);
  t.end();
});

void t.test('a listener that left receives nothing more, even when it leaves during an event', async (t) => {
  const channel = new Channel();
  const log: string[] = [];
  const leave = channel.subscribe(() => {
    log.push('first');
    leave();
  });
  channel.subscribe(() => log.push('second'));
  channel.emit('a', '{}');
  channel.emit('b', '{}');
  leave();
  await eventually('both events are told', () => log.length === 3 || undefined);
  t.same(log, ['first', 'second', 'second']);
  t.equal(channel.size, 1);
});

void t.test('many listeners are told in turns of the event loop, each of every event in order', async (t) => {
  const channel = new Channel();
  const heard = Array.from({ length: 200 }, (): string[] => []);
  let count = 0;
  for (const lines of heard) {
    channel.subscribe((line) => {
      const end = performance.now() + 1;
      while (performance.now() < end) continue;
      lines.push(line);
      count++;
    });
  }
  let turns = 0;
  channel.emit('a', '1');
  channel.emit('b', '2');
  t.ok(count < 20, `${count} are told at once`);
  const late: string[] = [];
  channel.subscribe((line) => late.push(line));
  channel.emit('c', '3');
  while (late.length === 0) {
    await new Promise((resolve) => setImmediate(resolve));
    turns++;
  }
  t.ok(turns > 20, `${turns} turns`);
  const lines = [envelope('a', '1'), envelope('b', '2'), envelope('c', '3')];
  for (const one of heard) t.same(one, lines);
  t.same(late, lines.slice(2));
});

void t.test('a listener that leaves before it is told is not told', async (t) => {
  const channel = new Channel();
  const slow = (): void => {
    const end = performance.now() + 5;
    while (performance.now() < end) continue;
  };
  channel.subscribe(slow);
  let heard = 0;
  const leave = channel.subscribe(() => heard++);
  channel.emit('a', '1');
  leave();
  for (let turn = 0; turn < 5; turn++) await new Promise((resolve) => setImmediate(resolve));
  t.equal(heard, 0);
});

void t.test('a listener that throws is dropped, and the others hear everything', async (t) => {
  const channel = new Channel();
  const heard: string[] = [];
  channel.subscribe(() => {
    throw new Error('gone');
  });
  channel.subscribe((event) => heard.push(event));
  channel.emit('node.created', '{}');
  channel.emit('node.deleted', '{}');
  await eventually('both events are told', () => heard.length === 2 || undefined);
  t.equal(channel.size, 1);
});

void t.test('a channel keeps its last thousand events by number, while somebody wants them', (t) => {
  const channel = new Channel();
  const first = channel.sequence;
  channel.emit('a', '0');
  t.equal(channel.sequence, first + 1, 'each has a number, whoever listens');
  t.equal(channel.since(first), undefined, 'nobody has wanted it');
  const release = channel.keepEvents();
  t.same(channel.since(first + 1), []);
  for (let event = 1; event <= 1001; event++) channel.emit('a', String(event));
  t.equal(channel.since(first + 1), undefined);
  const known = channel.since(first + 2);
  t.equal(known?.length, 1000);
  t.same([known?.[0], known?.at(-1)], ['{"action": "a", "event": 2}', '{"action": "a", "event": 1001}']);
  t.same(channel.since(first + 1002), []);
  t.equal(channel.since(first + 1003), undefined, 'that one has not happened');
  release();
  t.same(channel.since(first + 1002), [], 'it is kept for a while');
  for (let event = 0; event < 3; event++) channel.emit('a', JSON.stringify('x'.repeat(200_000)));
  t.equal(channel.since(first + 1002), undefined, 'long events are fewer');
  t.equal(channel.since(first + 1003)?.length, 2);
  t.end();
});

void t.test('each listener is told the numbers of its events', async (t) => {
  const channel = new Channel();
  const numbers: number[] = [];
  channel.emit('a', '1');
  const first = channel.sequence;
  channel.subscribe((_event, _about, sequence) => numbers.push(sequence));
  channel.emit('a', '2');
  channel.emit('a', '3');
  await eventually('both events are told', () => numbers.length === 2 || undefined);
  t.same(numbers, [first + 1, first + 2]);
});
