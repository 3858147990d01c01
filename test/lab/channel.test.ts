import t from 'tap';
import { Channel, envelope } from '../../src/lab/channel.js';

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

void t.test('a listener that left receives nothing more, even when it leaves during an event', (t) => {
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
  t.same(log, ['first', 'second', 'second']);
  t.equal(channel.size, 1);
  t.end();
});

void t.test('a listener that throws is dropped, and the others hear everything', (t) => {
  const channel = new Channel();
  const heard: string[] = [];
  channel.subscribe(() => {
    throw new Error('gone');
  });
  channel.subscribe((event) => heard.push(event));
  channel.emit('node.created', '{}');
  channel.emit('node.deleted', '{}');
  t.equal(heard.length, 2);
  t.equal(channel.size, 1);
  t.end();
});
