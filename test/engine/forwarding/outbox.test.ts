import t from 'tap';
import { ROW_LENGTH } from '../../../src/base/memory/port-counters.js';
import { BATCH_FRAMES } from '../../../src/engine/forwarding/batch.js';
import { Outbox } from '../../../src/engine/forwarding/outbox.js';
import { Port } from '../../../src/engine/forwarding/port.js';

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

void t.test('what has left does not leave again', (t) => {
  const outbox = new Outbox();
  const [one, two] = [portOf(1), portOf(2)];
  outbox.send(one, 0, 1);
  emptied(outbox);
  t.same(emptied(outbox), []);
  outbox.send(two, 5, 6);
  t.same(emptied(outbox), [{ port: 2, frames: [[5, 6]] }], 'and its batch is used again, empty');
  t.end();
});

void t.test('what is sent while frames leave waits for the next time', (t) => {
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
