import t from 'tap';
import { hostSockets } from '../../../src/engine/sockets/host-sockets.js';
import type { AtmConnection } from '../../../src/engine/devices/atm-switch.js';
import type { DeviceSettings } from '../../../src/engine/forwarding/orders.js';
import { headerOf, hecOf } from '../../../src/engine/wire/atm-cell.js';
import { eventually } from '../../support/eventually.js';
import { LiveEngine, numbered, numbersOf, upTo } from '../../support/live-engine.js';
import { unaccountedOf } from '../../support/port-books.js';

const HUB: DeviceSettings = { kind: 'ethernet_hub', settings: null };
const sockets = await hostSockets(process.platform);

function cell(vpi: number, vci: number, number: number): Buffer {
  const bytes = Buffer.alloc(53);
  bytes.writeInt32BE(headerOf(vpi, vci));
  bytes[4] = hecOf(headerOf(vpi, vci));
  bytes.writeUInt32BE(number, 5);
  return bytes;
}

void t.test('cells flow through a switch in an engine’s thread, and are counted', async (t) => {
  const live = new LiveEngine(t, sockets);
  const device = live.newDevice();
  const names = ['1:1:100', '2:2:200'];
  const settingsOf = (): DeviceSettings => {
    const [there = 0, back = 0] = device.connections.assign(names);
    const connections: AtmConnection[] = [
      { port: 1, vpi: 1, vci: 100, toPort: 2, toVpi: 2, toVci: 200, counter: there },
      { port: 2, vpi: 2, vci: 200, toPort: 1, toVpi: 1, toVci: 100, counter: back },
    ];
    return { kind: 'atm_switch', settings: { connections, refusesBadHec: false } };
  };
  await device.install(settingsOf());
  const [left, right] = [await live.attachOutside(t, device, 1), await live.attachOutside(t, device, 2)];
  const COUNT = 600;
  const there = upTo(COUNT).map((number) => cell(1, 100, number));
  const back = upTo(COUNT).map((number) => cell(2, 200, number));
  for (let at = 0; at < COUNT; at += 30) {
    await left.peer.send(left.localPort, there.slice(at, at + 30));
    await right.peer.send(right.localPort, back.slice(at, at + 30));
    await Promise.all([left.peer.receive(at + 30), right.peer.receive(at + 30)]);
  }
  t.same(
    left.peer.received,
    upTo(COUNT).map((number) => cell(1, 100, number)),
  );
  t.same(
    right.peer.received,
    upTo(COUNT).map((number) => cell(2, 200, number)),
  );
  await right.peer.send(right.localPort, [cell(3, 3, 0)]);
  await eventually('it is dropped', () => (device.counters(2)?.no_connection === 1 ? true : undefined));
  await device.inspect();
  t.equal(device.connections.read('1:1:100'), COUNT);
  t.equal(device.connections.read('2:2:200'), COUNT);
  await eventually('all are accounted for', () => {
    const counters = [device.counters(1), device.counters(2)];
    const unaccounted = unaccountedOf((name) => counters.reduce((sum, port) => sum + (port?.[name] ?? 0), 0));
    return unaccounted === 0 ? true : undefined;
  });

  device.connections.reset();
  await device.configure(settingsOf());
  await left.peer.send(left.localPort, [cell(1, 100, 1)]);
  await right.peer.receive(COUNT + 1);
  await device.inspect();
  t.equal(device.connections.read('1:1:100'), 1);
});

void t.test('counters are since a port was attached or they were reset', async (t) => {
  const live = new LiveEngine(t, sockets);
  const device = live.newDevice();
  await device.install(HUB);
  const near = await live.attachOutside(t, device, 1);
  const far = await live.attachOutside(t, device, 2);
  t.equal(device.counters(3), undefined);
  const send = async (count: number, from = 0): Promise<void> => {
    const all = far.peer.received.length + count;
    await near.peer.send(near.localPort, numbered(from, count));
    await far.peer.receive(all);
    // An answer comes after the turn, and so after everything in it was counted.
    await device.inspect();
  };
  await send(10);
  t.match(device.counters(1), { frames_in: 10, octets_in: 600, frames_out: 0, empty: 0 });
  device.resetCounters(1);
  device.resetCounters(9);
  t.match(device.counters(1), { frames_in: 0, octets_in: 0 });
  t.match(device.counters(2), { frames_out: 10 });
  await send(4, 10);
  t.match(device.counters(1), { frames_in: 4, octets_in: 240 });
  await device.detach(1);
  t.equal(device.counters(1), undefined);
  await device.attach(1, near.endpoint);
  t.match(device.counters(1), { frames_in: 0, octets_in: 0 }, 'it begins anew, in the same row');
  await send(1, 14);
  t.match(device.counters(1), { frames_in: 1 });
  t.same(numbersOf(far.peer.received), upTo(15));
});

void t.test('rows are given back, whatever becomes of an attachment', async (t) => {
  const live = new LiveEngine(t, sockets);
  const device = live.newDevice();
  await t.rejects(device.attach(1, { type: 'null' }), { message: 'there is no device 1' });
  t.equal(device.counters(1), undefined);
  await device.install(HUB);
  await device.attach(1, { type: 'null' });
  await t.rejects(device.attach(1, { type: 'null' }), { message: 'port 1 is attached' });
  t.match(device.counters(1), { frames_in: 0 }, 'a refused attachment leaves the first as it was');
  await device.attach(2, { type: 'null' }, { suspended: true, filters: undefined });
  t.equal(live.rows.take(), 2, 'two are in use');
  live.rows.giveBack(2);
  await t.rejects(device.detach(3), { message: 'port 3 is not attached' });
  await device.detach(1);
  t.equal(live.rows.take(), 0);
  live.rows.giveBack(0);
  device.connections.assign(['a', 'b']);
  await device.remove();
  t.same([live.rows.take(), live.rows.take(), live.rows.take()].sort(), [0, 1, 2]);
  t.equal(live.connections.take(), 1);
  t.equal(live.removed, 1);
  t.equal(device.counters(2), undefined);
});

void t.test('an engine that has no row left refuses', async (t) => {
  const live = new LiveEngine(t, sockets);
  const device = live.newDevice();
  await device.install(HUB);
  const taken: number[] = [];
  for (let row = live.rows.take(); row !== undefined; row = live.rows.take()) taken.push(row);
  await t.rejects(device.attach(1, { type: 'null' }), { name: 'RangeError', message: /in use$/ });
  for (const row of taken) live.rows.giveBack(row);
  await device.attach(1, { type: 'null' });
});
