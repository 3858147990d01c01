/** Filters in an engine's thread, on real sockets: what passes, in which order, and that nothing stays behind. */
import t from 'tap';
import type { RunningDevice } from '../../../src/engine/control/running-device.js';
import { hostSockets } from '../../../src/engine/sockets/host-sockets.js';
import type { FilterStage } from '../../../src/engine/filters/filter-plan.js';
import { eventually } from '../../support/eventually.js';
import { LiveEngine, numbered, numbersOf, upTo } from '../../support/live-engine.js';
import { unaccountedOf } from '../../support/port-books.js';
import type { Teardown } from '../../support/scratch.js';

const sockets = await hostSockets(process.platform);

async function liveHub(t: Teardown) {
  const live = new LiveEngine(t, sockets);
  const device = live.newDevice();
  await device.install({ kind: 'ethernet_hub', settings: null });
  return {
    device,
    near: await live.attachOutside(t, device, 1),
    far: await live.attachOutside(t, device, 2),
  };
}

const filter = (device: RunningDevice, ...outward: readonly FilterStage[]): Promise<void> =>
  device.setPolicy(2, { suspended: false, filters: { seed: 1, outward, inward: [] } });

const DELAY: FilterStage = { type: 'delay', latencyMs: 30, jitterMs: 10 };

void t.test('a delay with jitter delivers everything in order, without being asked again', async (t) => {
  const { device, near, far } = await liveHub(t);
  await filter(device, DELAY);
  for (let from = 0; from < 600; from += 30) await near.peer.send(near.localPort, numbered(from, 30));
  t.same(numbersOf(await far.peer.receive(600)), upTo(600));
  await device.inspect();
  const counters = [device.counters(1), device.counters(2)];
  t.equal(
    unaccountedOf((name) => counters.reduce((sum, port) => sum + (port?.[name] ?? 0), 0)),
    0,
  );
});

void t.test('filters of all kinds have the counts that they should', async (t) => {
  const { device, near, far } = await liveHub(t);
  await filter(
    device,
    { type: 'frequency_drop', every: 4 },
    { type: 'corrupt', percent: 100 },
    { type: 'duplicate', percent: 100 },
    { type: 'reorder', percent: 50, holdMs: 5 },
    DELAY,
  );
  for (let from = 0; from < 400; from += 20) await near.peer.send(near.localPort, numbered(from, 20));
  await far.peer.receive(600);
  await device.inspect();
  t.match(device.counters(2), { filter_frequency: 100, corrupted: 300, copies: 300, frames_out: 600 });
});

void t.test('waiting frames leave when the filter is removed, and later frames follow them', async (t) => {
  const { device, near, far } = await liveHub(t);
  await filter(device, { type: 'delay', latencyMs: 32_767, jitterMs: 0 });
  await near.peer.send(near.localPort, numbered(0, 40));
  await eventually('they have come in', async () => {
    await device.inspect();
    return device.counters(1)?.frames_in === 40 ? true : undefined;
  });
  t.equal(far.peer.received.length, 0);
  await device.setPolicy(2, { suspended: false, filters: undefined });
  await near.peer.send(near.localPort, numbered(40, 40));
  t.same(numbersOf(await far.peer.receive(80)), upTo(80));
});
