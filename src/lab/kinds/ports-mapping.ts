/**
 * The `ports_mapping` of Ethernet switches and hubs: a list in which the position alone is the number of the port.
 * A changed list is renamed and renumbered by position, as clients expect.
 */
import { z } from 'zod';
import type { Properties } from './node-kind.js';
import type { NodePort } from './port.js';

export const LARGEST_PORT_COUNT = 1024;
const DEFAULT_PORT_COUNT = 8;
const DATA_LINK_TYPES = { Ethernet: 'DLT_EN10MB' };

/** The schema of the list as the compute shows it. */
export const shownPorts = { ports_mapping: z.array(z.record(z.string(), z.unknown())) };

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

/** The stored list; empty when something else is stored. */
export function storedList(properties: Properties): readonly unknown[] {
  const list = properties['ports_mapping'];
  return Array.isArray(list) ? list : [];
}

export function positionedPorts(properties: Properties): NodePort[] {
  return storedList(properties).map((mapped, index) => ({
    adapter_number: 0,
    data_link_types: DATA_LINK_TYPES,
    link_type: 'ethernet',
    name: nameOf(mapped) ?? `Ethernet${index}`,
    port_number: index,
    short_name: `e${index}`,
  }));
}

/** The value under this name in an entry of the list, whatever was stored. */
export function fieldOf(entry: unknown, name: string): unknown {
  return typeof entry === 'object' && entry !== null ? Reflect.get(entry, name) : undefined;
}

function nameOf(mapped: unknown): string | undefined {
  const name = fieldOf(mapped, 'name');
  return typeof name === 'string' ? name : undefined;
}
