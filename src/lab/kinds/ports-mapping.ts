/**
 * The `ports_mapping` of Ethernet switches and hubs: a list, of which the position alone is the port's number.
 * A changed list is renamed and renumbered by position, as clients expect.
 */
import type { Port } from '../gns3-file/topology-schema.js';
import type { Properties } from './node-kind.js';

export const LARGEST_PORT_COUNT = 1024;
const DEFAULT_PORT_COUNT = 8;
const DATA_LINK_TYPES = { Ethernet: 'DLT_EN10MB' };

export interface MappedPort {
  readonly name: string;
  readonly port_number: number;
}

export function defaultPorts<Settings extends object>(settings: Settings): (MappedPort & Settings)[] {
  return Array.from({ length: DEFAULT_PORT_COUNT }, (_, index) => ({ ...numbered(index), ...settings }));
}

export function renumbered<Mapped extends MappedPort>(list: readonly Mapped[]): Mapped[] {
  return list.map((mapped, index) => ({ ...mapped, ...numbered(index) }));
}

function numbered(index: number): MappedPort {
  return { name: `Ethernet${index}`, port_number: index };
}

/** The list that is stored, if it is one. */
export function storedList(properties: Properties): readonly unknown[] {
  const list = properties['ports_mapping'];
  return Array.isArray(list) ? list : [];
}

export function positionedPorts(properties: Properties): Port[] {
  return storedList(properties).map((mapped, index) => ({
    adapter_number: 0,
    data_link_types: DATA_LINK_TYPES,
    link_type: 'ethernet',
    name: nameOf(mapped) ?? `Ethernet${index}`,
    port_number: index,
    short_name: `e${index}`,
  }));
}

function nameOf(mapped: unknown): string | undefined {
  if (typeof mapped !== 'object' || mapped === null || !('name' in mapped)) return undefined;
  return typeof mapped.name === 'string' ? mapped.name : undefined;
}
