import t from 'tap';
import type { DeviceOptions } from '../../../src/lab/kinds/node-kind.js';
import { atmSwitch } from '../../../src/lab/kinds/atm-switch.js';
import { frameRelaySwitch } from '../../../src/lab/kinds/frame-relay-switch.js';
import { ethernetHub } from '../../../src/lab/kinds/ethernet-hub.js';
import { ethernetSwitch } from '../../../src/lab/kinds/ethernet-switch.js';

/** Counters are numbered as they are asked for. */
const options: DeviceOptions = {
  refusesBadHec: false,
  countersOf: (names) => names.map((_, index) => index + 7),
};

void t.test('an ATM switch has channels and paths, each with a counter of its own', (t) => {
  const properties = { mappings: { '1:0:100': '10:0:200', '3:7': '4:8' } };
  t.same(atmSwitch.deviceSettings(properties, options), {
    kind: 'atm_switch',
    settings: {
      refusesBadHec: false,
      connections: [
        { port: 1, vpi: 0, vci: 100, toPort: 10, toVpi: 0, toVci: 200, counter: 7 },
        { port: 10, vpi: 0, vci: 200, toPort: 1, toVpi: 0, toVci: 100, counter: 8 },
        { port: 3, vpi: 7, vci: undefined, toPort: 4, toVpi: 8, toVci: undefined, counter: 9 },
        { port: 4, vpi: 8, vci: undefined, toPort: 3, toVpi: 7, toVci: undefined, counter: 10 },
      ],
    },
  });
  t.match(atmSwitch.deviceSettings({}, { ...options, refusesBadHec: true }), {
    settings: { refusesBadHec: true, connections: [] },
  });
  t.end();
});

void t.test('a Frame Relay switch joins DLCIs', (t) => {
  t.same(frameRelaySwitch.deviceSettings({ mappings: { '1:101': '2:202' } }, options), {
    kind: 'frame_relay_switch',
    settings: {
      connections: [
        { port: 1, dlci: 101, toPort: 2, toDlci: 202, counter: 7 },
        { port: 2, dlci: 202, toPort: 1, toDlci: 101, counter: 8 },
      ],
    },
  });
  t.end();
});

void t.test(
  'the ports of an Ethernet switch are those that the mapping numbers, not those of the list',
  (t) => {
    const properties = ethernetSwitch.create({
      ports_mapping: [
        { name: 'a', port_number: 5, type: 'access', vlan: 10 },
        { name: 'b', port_number: 0, type: 'dot1q', vlan: 1 },
        { name: 'c', port_number: 9, type: 'qinq', vlan: 20, ethertype: '0x88A8' },
        { name: 'd', port_number: 2, type: 'qinq', vlan: 30, ethertype: '' },
      ],
    });
    t.same(ethernetSwitch.deviceSettings(properties, options), {
      kind: 'ethernet_switch',
      settings: {
        ports: [
          { port: 5, type: 'access', vlan: 10, ethertype: 0x8100 },
          { port: 0, type: 'dot1q', vlan: 1, ethertype: 0x8100 },
          { port: 9, type: 'qinq', vlan: 20, ethertype: 0x88a8 },
          { port: 2, type: 'qinq', vlan: 30, ethertype: 0x8100 },
        ],
      },
    });
    t.end();
  },
);

void t.test('a hub has ports and nothing to set', (t) => {
  const properties = ethernetHub.create({ ports_mapping: [{ name: 'a', port_number: 4 }] });
  t.same(ethernetHub.deviceSettings(properties, options), { kind: 'ethernet_hub', settings: null });
  const attachable = (of: typeof properties): number[] =>
    Array.from({ length: 20 }, (_, port) => port).filter((port) => ethernetHub.canAttach(of, port));
  t.same(attachable(properties), [4]);
  t.same(attachable(ethernetHub.create({})), [0, 1, 2, 3, 4, 5, 6, 7]);
  t.end();
});

void t.test('no room for counters is passed on', (t) => {
  const full: DeviceOptions = {
    ...options,
    countersOf: () => {
      throw new RangeError('full');
    },
  };
  t.throws(() => atmSwitch.deviceSettings({ mappings: { '1:2': '3:4' } }, full), RangeError);
  t.end();
});
