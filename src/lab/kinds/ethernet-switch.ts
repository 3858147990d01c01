/** The Ethernet switch: access, dot1q and qinq ports. Its console port is reserved and nothing listens there. */
import { isDeepStrictEqual } from 'node:util';
import { z } from 'zod';
import { refusals } from '../../base/errors/errors.js';
import type { EthernetPort } from '../../engine/devices/ethernet-switch.js';
import { LINK_TYPE } from '../../engine/wire/pcap.js';
import type { DeviceTable, SwitchKind } from './node-kind.js';
import {
  defaultPorts,
  fieldOf,
  LARGEST_PORT_COUNT,
  positionedPorts,
  renumbered,
  shownPorts,
  storedList,
} from './ports-mapping.js';
import { templateSettings } from './template.js';

const LARGEST_VLAN = 4094;
const DEFAULT_VLAN = 1;
const DOT1Q = 0x8100;

const portSettings = z.strictObject({
  name: z.string().min(1).max(255),
  port_number: z.int().min(0),
  type: z.enum(['access', 'dot1q', 'qinq']),
  vlan: z.int().min(1).max(LARGEST_VLAN).optional(),
  ethertype: z.enum(['', '0x8100', '0x88A8', '0x9100', '0x9200']).optional(),
});
const switchPort = portSettings.transform((port) => ({ ...port, vlan: port.vlan ?? DEFAULT_VLAN }));

type SwitchPort = z.output<typeof switchPort>;

interface SwitchProperties extends Readonly<Record<string, unknown>> {
  readonly ports_mapping?: readonly SwitchPort[] | undefined;
}

const look = {
  category: 'switch',
  console_type: 'none',
  default_name_format: 'Switch{0}',
  symbol: ':/symbols/ethernet_switch.svg',
};

const learnt = z.object({
  mac_table: z.array(z.object({ age_seconds: z.number(), mac: z.string(), port: z.int(), vlan: z.int() })),
});
const macTable = z.array(
  z.strictObject({ age_seconds: z.number(), mac_address: z.string(), port_number: z.int(), vlan: z.int() }),
);

/** Sorted by VLAN and address. */
const stations: DeviceTable = {
  name: 'mac_table',
  contents: 'stations',
  schema: macTable,
  rows: (inspected): z.infer<typeof macTable> =>
    learnt.parse(inspected).mac_table.map(({ age_seconds, mac, port, vlan }) => {
      return { age_seconds, mac_address: mac, port_number: port, vlan };
    }),
};

/** Clients of the compute mean the number that an entry names, not its place in the list. */
function devicePort(entry: unknown): EthernetPort[] {
  const type = fieldOf(entry, 'type');
  if (type !== 'access' && type !== 'dot1q' && type !== 'qinq') return [];
  const ethertype = Number(fieldOf(entry, 'ethertype'));
  const vlan = Number(fieldOf(entry, 'vlan'));
  return [
    {
      port: Number(fieldOf(entry, 'port_number')),
      type,
      // A stored port may be older than the rule that a port has a VLAN.
      vlan: vlan > 0 ? vlan : DEFAULT_VLAN,
      ethertype: ethertype > 0 ? ethertype : DOT1Q,
    },
  ];
}

export const ethernetSwitch: SwitchKind = {
  type: 'ethernet_switch',
  title: 'an Ethernet switch',
  alwaysRuns: true,
  imageProperties: [],
  keepsContentElsewhere: false,
  properties: z.strictObject({ ports_mapping: z.array(switchPort).max(LARGEST_PORT_COUNT).optional() }),
  shownProperties: shownPorts,
  consoleTypes: ['none', 'telnet'],
  template: {
    settings: templateSettings({
      ports_mapping: z.array(portSettings).max(LARGEST_PORT_COUNT).optional(),
      console_type: z.enum(['telnet', 'none']).optional(),
    }),
    defaults: { ...look, ports_mapping: defaultPorts({ ethertype: '', type: 'access', vlan: DEFAULT_VLAN }) },
  },
  builtinTemplate: {
    rank: 4,
    template: { template_id: '1966b864-93e7-32d5-965f-001384eec461', name: 'Ethernet switch', ...look },
  },
  medium: 'ethernet',
  capture: { linkType: LINK_TYPE.EN10MB, packets: 'frames' },
  connectionUnit: undefined,
  tables: [stations],
  create: (given: SwitchProperties) => ({
    ports_mapping: given.ports_mapping ?? defaultPorts({ type: 'access', vlan: DEFAULT_VLAN }),
  }),
  update(current, given: SwitchProperties, isConnected) {
    const list = given.ports_mapping;
    const stored = storedList(current);
    if (list === undefined || isDeepStrictEqual(list, stored)) return current;
    if (isConnected && list.length !== stored.length) throw refusals.switchConnected();
    return { ...current, ports_mapping: renumbered(list) };
  },
  ports: ({ properties }) => positionedPorts(properties),
  canAttach: () => true,
  deviceSettings: (properties) => ({
    kind: 'ethernet_switch',
    settings: { ports: storedList(properties).flatMap(devicePort) },
  }),
};
