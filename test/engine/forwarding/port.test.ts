import t from 'tap';
import { COUNTER } from '../../../src/base/memory/port-counters.js';
import { Batch } from '../../../src/engine/forwarding/batch.js';
import { countSent, NOWHERE, octetsOf } from '../../../src/engine/forwarding/port.js';
import { PortBooks } from '../../support/port-books.js';

void t.test('a port counts by one or by many, and only in its row', (t) => {
  const books = new PortBooks(3);
  const [first, second] = [books.newPort(5, 0), books.newPort(6, 1)];
  first.count(COUNTER.frames_in);
  second.count(COUNTER.frames_in, 4);
  second.count(COUNTER.send_buffer_full, 2);
  second.count(COUNTER.frames_in);
  t.same(books.counters(0), { frames_in: 1 });
  t.same(books.counters(1), { frames_in: 5, send_buffer_full: 2 });
  t.same(books.counters(2), {});
  t.end();
});

void t.test('what goes nowhere is counted as sent, frame by frame and octet by octet', (t) => {
  const books = new PortBooks(1);
  const port = books.newPort(1, 0);
  t.equal(port.exit, NOWHERE);
  const frames = new Batch();
  frames.add(0, 53);
  frames.add(100, 9216);
  t.equal(octetsOf(frames), 9269);
  port.exit.send(port, frames);
  countSent(port, frames);
  t.same(books.counters(0), { frames_out: 4, octets_out: 18_538 });
  frames.count = 0;
  t.equal(octetsOf(frames), 0, 'what is left in a batch that was emptied does not count');
  t.end();
});
