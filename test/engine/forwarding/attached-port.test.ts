import t from 'tap';
import {
  AttachedPort,
  type Filters,
  type PortContext,
  type PortFilter,
} from '../../../src/engine/forwarding/attached-port.js';
import { matcherOf } from '../../../src/engine/wire/bpf.js';
import { Batch } from '../../../src/engine/forwarding/port.js';
import type { Link } from '../../../src/engine/forwarding/transport.js';
import { PortBooks } from '../../support/port-books.js';

function portOn(books: PortBooks, isSuspended: boolean): { port: AttachedPort; received: number[] } {
  const received: number[] = [];
  const device: PortContext['device'] = {
    receive: (_, { count }) => {
      received.push(count);
    },
  };
  const context: PortContext = {
    number: 7,
    device,
    medium: 'serial',
    endpoint: { type: 'null' },
    matcherOf,
    takesOffloads: false,
  };
  return { port: new AttachedPort(context, books.values, 3, isSuspended), received };
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

void t.test('frames go out by the link, until the port is linked by another exit', (t) => {
  const { port } = portOn(new PortBooks(5), false);
  const [sent, fused]: [number[], number[]] = [[], []];
  const link = linkInto(sent);
  port.link = link;
  t.equal(port.link, link);
  port.exit.send(port, batchOf(1));
  port.linkBy(linkInto(fused));
  port.exit.send(port, batchOf(1, 2));
  port.linkBy(port.link);
  port.exit.send(port, batchOf(1, 2, 3));
  t.same([sent, fused], [[1, 3], [2]]);
  port.link = undefined;
  port.exit.send(port, batchOf(1));
  t.same([sent, fused], [[1, 3], [2]]);
  t.end();
});

void t.test('frames that enter are the device’s', (t) => {
  const { port, received } = portOn(new PortBooks(5), false);
  port.fromLink(batchOf(1, 2, 3));
  t.same(received, [3]);
  t.end();
});

void t.test('a suspended port lets nothing through, whatever it leaves by', (t) => {
  const books = new PortBooks(5);
  const { port, received } = portOn(books, true);
  const sent: number[] = [];
  port.link = linkInto(sent);
  port.exit.send(port, batchOf(1, 2));
  port.linkBy(linkInto(sent));
  port.exit.send(port, batchOf(1));
  port.fromLink(batchOf(1, 2, 3));
  t.same([sent, received], [[], []]);
  t.same(books.counters(3), { suspended: 6 });
  t.end();
});

/** Lets everything pass, and says what was done to it. */
function filterInto(said: string[], name: string, deliver: (frames: Batch) => void): PortFilter {
  return {
    pass: (frames) => {
      said.push(`${name} passes ${frames.count}`);
      deliver(frames);
    },
    flush: () => void said.push(`${name} is flushed`),
    drop: () => void said.push(`${name} is dropped`),
  };
}

function between(): {
  port: AttachedPort;
  said: string[];
  filters: (name: string) => Filters;
} {
  const said: string[] = [];
  const device: PortContext['device'] = {
    receive: (_, { count }) => void said.push(`the device has ${count}`),
  };
  const context: PortContext = {
    number: 7,
    device,
    medium: 'serial',
    endpoint: { type: 'null' },
    matcherOf,
    takesOffloads: false,
  };
  const port = new AttachedPort(context, new PortBooks(5).values, 3, false);
  port.link = { endpoint: { type: 'null' }, send: (_, { count }) => void said.push(`the link has ${count}`) };
  const filters = (name: string): Filters => ({
    outward: filterInto(said, `${name} out`, (frames) => {
      port.toLink(frames);
    }),
    inward: filterInto(said, `${name} in`, (frames) => {
      port.toDevice(frames);
    }),
  });
  return { port, said, filters };
}

void t.test('frames pass filters, then taps, then the link or the device', (t) => {
  const { port, said, filters } = between();
  port.tap(1, {
    record: (direction, { count }) => void said.push(`tapped ${count} ${direction}`),
    close: () => void said.push('the tap is closed'),
  });
  port.setPolicy(false, filters('first'));
  port.exit.send(port, batchOf(1, 2));
  port.fromLink(batchOf(1, 2, 3));
  t.same(said, [
    'first out passes 2',
    'tapped 2 out',
    'the link has 2',
    'first in passes 3',
    'tapped 3 in',
    'the device has 3',
  ]);
  said.length = 0;
  port.untap(1);
  port.setPolicy(false, { outward: undefined, inward: undefined });
  port.exit.send(port, batchOf(1));
  port.fromLink(batchOf(1));
  t.same(said, [
    'the tap is closed',
    'first out is flushed',
    'first in is flushed',
    'the link has 1',
    'the device has 1',
  ]);
  t.throws(() => {
    port.untap(1);
  }, /there is no tap 1/);
  t.end();
});

void t.test(
  'frames that wait in filters go on when these are changed, and are dropped when the port is suspended',
  (t) => {
    const { port, said, filters } = between();
    port.setPolicy(false, filters('first'));
    port.setPolicy(false, filters('second'));
    port.setPolicy(true, filters('third'));
    port.exit.send(port, batchOf(1));
    port.fromLink(batchOf(1));
    port.setPolicy(false, filters('fourth'));
    port.linkBy(linkInto([]));
    port.exit.send(port, batchOf(1));
    port.tap(4, { record: () => undefined, close: () => void said.push('the tap is closed') });
    port.close();
    t.same(said, [
      'first out is flushed',
      'first in is flushed',
      'second out is dropped',
      'second in is dropped',
      'third out is flushed',
      'third in is flushed',
      'fourth out passes 1',
      'fourth out is dropped',
      'fourth in is dropped',
      'the tap is closed',
    ]);
    t.end();
  },
);
