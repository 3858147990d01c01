import t from 'tap';
import { AttachedPort, type Place } from '../../src/switching/attached-port.js';
import { Batch } from '../../src/switching/batch.js';
import type { Link } from '../../src/switching/transport.js';
import { PortBooks } from '../support/port-books.js';

function portOn(books: PortBooks, isSuspended: boolean): { port: AttachedPort; received: number[] } {
  const received: number[] = [];
  const device: Place['device'] = {
    receive: (_, { count }) => {
      received.push(count);
    },
  };
  const place: Place = { number: 7, device, medium: 'serial', endpoint: { type: 'null' }, isSuspended };
  return { port: new AttachedPort(place, books.values, 3), received };
}

function batchOf(...lengths: readonly number[]): Batch {
  const batch = new Batch();
  for (const length of lengths) batch.add(0, length);
  return batch;
}

/** A link that keeps how many frames it was given. */
function linkInto(sent: number[]): Link {
  return { endpoint: { type: 'null' }, send: (_, { count }) => void sent.push(count) };
}

void t.test('a port counts in its own row, and swallows what it has no link for', (t) => {
  const books = new PortBooks(5);
  const { port } = portOn(books, false);
  t.equal(port.number, 7);
  port.exit.send(port, batchOf(10, 20));
  t.same(books.counters(3), { frames_out: 2, octets_out: 30 });
  t.same(books.totals(), books.counters(3), 'nothing is counted elsewhere');
  t.end();
});

void t.test('what leaves goes to the link, until it leaves by something else', (t) => {
  const { port } = portOn(new PortBooks(5), false);
  const [sent, fused]: [number[], number[]] = [[], []];
  const link = linkInto(sent);
  port.link = link;
  t.equal(port.link, link);
  port.exit.send(port, batchOf(1));
  port.leaveBy(linkInto(fused));
  port.exit.send(port, batchOf(1, 2));
  port.leaveBy(port.link);
  port.exit.send(port, batchOf(1, 2, 3));
  t.same([sent, fused], [[1, 3], [2]]);
  port.link = undefined;
  port.exit.send(port, batchOf(1));
  t.same([sent, fused], [[1, 3], [2]]);
  t.end();
});

void t.test('frames that enter are the device’s', (t) => {
  const { port, received } = portOn(new PortBooks(5), false);
  port.enter(batchOf(1, 2, 3));
  t.same(received, [3]);
  t.end();
});

void t.test('a suspended port lets nothing through, whatever it leaves by', (t) => {
  const books = new PortBooks(5);
  const { port, received } = portOn(books, true);
  const sent: number[] = [];
  port.link = linkInto(sent);
  port.exit.send(port, batchOf(1, 2));
  port.leaveBy(linkInto(sent));
  port.exit.send(port, batchOf(1));
  port.enter(batchOf(1, 2, 3));
  t.same([sent, received], [[], []]);
  t.same(books.counters(3), { suspended: 6 });
  t.end();
});
