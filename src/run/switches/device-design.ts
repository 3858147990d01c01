/** What an engine is to run for a node: its kind and properties as the settings of a device. */
import type { Properties } from '../../lab/kinds/node-kind.js';
import { storedList } from '../../lab/kinds/ports-mapping.js';
import type { AtmConnection } from '../../engine/devices/atm-switch.js';
import type { EthernetPort } from '../../engine/devices/ethernet-switch.js';
import type { FrameRelayConnection } from '../../engine/devices/frame-relay-switch.js';
import type { DeviceKind } from '../../engine/devices/device-kinds.js';
import type { DeviceSettings } from '../../engine/forwarding/orders.js';
import { connectionsOf, type MappedConnection } from './mapped-connections.js';

export interface DesignOptions {
  /** ATM switches drop cells whose header error control is wrong. */
  readonly refusesBadHec: boolean;
  /** Where the counters of these connections lie, in their order. */
  readonly countersOf: (names: readonly string[]) => readonly number[];
}

const DOT1Q = 0x8100;
const DEFAULT_VLAN = 1;

export function designOf(kind: DeviceKind, properties: Properties, options: DesignOptions): DeviceSettings {
  switch (kind) {
    case 'atm_switch': {
      const connections = withCounters(properties, options, atmConnection);
      return { kind, settings: { connections, refusesBadHec: options.refusesBadHec } };
    }
    case 'frame_relay_switch':
      return { kind, settings: { connections: withCounters(properties, options, frameRelayConnection) } };
    case 'ethernet_switch':
      return { kind, settings: { ports: storedList(properties).flatMap((entry) => ethernetPort(entry)) } };
    case 'ethernet_hub':
      return { kind, settings: null };
  }
}

/** The port numbers that `ports_mapping` names. */
export function mappedNumbers(properties: Properties): Set<number> {
  return new Set(storedList(properties).map((entry) => Number(field(entry, 'port_number'))));
}

function withCounters<Connection>(
  properties: Properties,
  { countersOf }: DesignOptions,
  make: (mapped: MappedConnection, counter: number) => Connection,
): Connection[] {
  const mapped = connectionsOf(properties);
  const counters = countersOf(mapped.map(({ name }) => name));
  return mapped.map((connection, index) => make(connection, counters[index] ?? 0));
}

function atmConnection({ source, destination }: MappedConnection, counter: number): AtmConnection {
  const [port = 0, vpi = 0, vci] = source;
  const [toPort = 0, toVpi = 0, toVci] = destination;
  return { port, vpi, vci, toPort, toVpi, toVci, counter };
}

function frameRelayConnection(
  { source, destination }: MappedConnection,
  counter: number,
): FrameRelayConnection {
  const [port = 0, dlci = 0] = source;
  const [toPort = 0, toDlci = 0] = destination;
  return { port, dlci, toPort, toDlci, counter };
}

/** The number that the entry names, not its place in the list: so clients of a compute mean it. */
function ethernetPort(entry: unknown): EthernetPort[] {
  const type = field(entry, 'type');
  if (type !== 'access' && type !== 'dot1q' && type !== 'qinq') return [];
  const ethertype = Number(field(entry, 'ethertype'));
  const vlan = Number(field(entry, 'vlan'));
  return [
    {
      port: Number(field(entry, 'port_number')),
      type,
      // What was stored once may be older than the rule that a port has one.
      vlan: vlan > 0 ? vlan : DEFAULT_VLAN,
      ethertype: ethertype > 0 ? ethertype : DOT1Q,
    },
  ];
}

function field(entry: unknown, name: string): unknown {
  return typeof entry === 'object' && entry !== null ? Reflect.get(entry, name) : undefined;
}
