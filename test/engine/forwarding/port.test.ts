import t from 'tap';
import { COUNTER, ROW_LENGTH } from '../../../src/base/memory/port-counters.js';
import {
  Batch,
  BATCH_FRAMES,
  bytesOf,
  countSent,
  NOWHERE,
  Outbox,
  Port,
} from '../../../src/engine/forwarding/port.js';
import { PortBooks } from '../../support/port-books.js';

interface Delivery {
  readonly port: number;
  readonly frames: readonly (readonly [offset: number | undefined, length: number | undefined])[];
}

const portOf = (number: number): Port => new Port(number, new Float64Array(ROW_LENGTH), 0);

function emptied(outbox: Outbox, during?: (port: Port) => void): Delivery[] {
  const deliveries: Delivery[] = [];
  outbox.empty((port, { offsets, lengths, count }) => {
    const frames = Array.from({ length: count }, (_, index) => [offsets[index], lengths[index]] as const);
    deliveries.push({ port: port.number, frames });
    during?.(port);
  });
  return deliveries;
}

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

void t.test('frames without a link are counted as sent, by number and by bytes', (t) => {
  const books = new PortBooks(1);
  const port = books.newPort(1, 0);
  t.equal(port.exit, NOWHERE);
  const frames = new Batch();
  frames.add(0, 53);
  frames.add(100, 9216);
  t.equal(bytesOf(frames), 9269);
  port.exit.send(port, frames);
  countSent(port, frames);
  t.same(books.counters(0), { frames_out: 4, octets_out: 18_538 });
  frames.count = 0;
  t.equal(bytesOf(frames), 0, 'what is left in a batch that was emptied does not count');
  t.end();
});

void t.test('frames leave in the order in which they were sent, port by port', (t) => {
  const outbox = new Outbox();
  const [one, two] = [portOf(1), portOf(2)];
  outbox.send(two, 0, 53);
  outbox.send(one, 53, 60);
  outbox.send(two, 113, 0);
  t.same(emptied(outbox), [
    {
      port: 2,
      frames: [
        [0, 53],
        [113, 0],
      ],
    },
    { port: 1, frames: [[53, 60]] },
  ]);
  t.end();
});

void t.test('frames that have left do not leave again', (t) => {
  const outbox = new Outbox();
  const [one, two] = [portOf(1), portOf(2)];
  outbox.send(one, 0, 1);
  emptied(outbox);
  t.same(emptied(outbox), []);
  outbox.send(two, 5, 6);
  t.same(emptied(outbox), [{ port: 2, frames: [[5, 6]] }], 'and its batch is used again, empty');
  t.end();
});

void t.test('frames that are sent while others leave wait for the next time', (t) => {
  const outbox = new Outbox();
  const [one, two] = [portOf(1), portOf(2)];
  outbox.send(one, 0, 1);
  const first = emptied(outbox, (port) => {
    outbox.send(port, 10, 11);
    outbox.send(two, 20, 21);
  });
  t.same(first, [{ port: 1, frames: [[0, 1]] }]);
  t.same(emptied(outbox), [
    { port: 1, frames: [[10, 11]] },
    { port: 2, frames: [[20, 21]] },
  ]);
  t.same(emptied(outbox), []);
  t.end();
});

void t.test('a port takes as many frames at once as a device is given', (t) => {
  const outbox = new Outbox();
  const port = portOf(1);
  for (let index = 0; index < BATCH_FRAMES; index++) outbox.send(port, index * 53, 53);
  const [delivery] = emptied(outbox);
  t.equal(delivery?.frames.length, BATCH_FRAMES);
  t.same(delivery?.frames.at(-1), [(BATCH_FRAMES - 1) * 53, 53]);
  t.end();
});
