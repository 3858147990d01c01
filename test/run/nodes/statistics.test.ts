import t from 'tap';
import { atmSwitch } from '../../../src/lab/kinds/atm-switch.js';
import { ethernetHub } from '../../../src/lab/kinds/ethernet-hub.js';
import { ethernetSwitch } from '../../../src/lab/kinds/ethernet-switch.js';
import { frameRelaySwitch } from '../../../src/lab/kinds/frame-relay-switch.js';
import { connectionStatistics, shownCounters, statistics } from '../../../src/run/nodes/statistics.js';
import type { PortCounters, RunningDevice } from '../../../src/engine/control/running-device.js';
import { COUNTER_NAMES, DROP_CAUSES } from '../../../src/base/memory/port-counters.js';

void t.test('every counter is told once, the drops by themselves', (t) => {
  const counters = Object.fromEntries(COUNTER_NAMES.map((name, index) => [name, index])) as PortCounters;
  const shown = { adapter_number: 0, port_number: 4, counters: shownCounters(counters, 9) };
  t.match(shown, {
    adapter_number: 0,
    port_number: 4,
    counters: { frames_in: 0, octets_in: 1, socket_full: 9 },
  });
  const { drops, socket_full, ...passed } = shown.counters;
  t.same(Object.keys(drops), DROP_CAUSES);
  t.same({ ...passed, ...drops }, counters);
  t.ok(statistics.safeParse({ ports: [shown] }).success);
  t.end();
});

void t.test('connections are told as the mapping has them', (t) => {
  const read: Readonly<Record<string, number>> = { '1:5': 11, '2:6': 12 };
  const device = { connections: { read: (name: string) => read[name] } } as unknown as RunningDevice;
  const properties = { mappings: { '01:5': '2:6' } };
  t.same(connectionStatistics(atmSwitch, properties, device), [
    { cells: 11, from: '01:5', to: '2:6' },
    { cells: 12, from: '2:6', to: '01:5' },
  ]);
  t.match(connectionStatistics(frameRelaySwitch, properties, device), [{ frames: 11 }, { frames: 12 }]);
  for (const kind of [ethernetSwitch, ethernetHub]) {
    t.equal(connectionStatistics(kind, {}, device), undefined);
  }
  t.end();
});
