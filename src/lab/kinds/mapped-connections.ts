/** The connections that the `mappings` of an ATM or Frame Relay switch mean: two for each entry, one a direction. */
import { parseSide } from './mapping.js';
import type { DeviceOptions, Properties } from './node-kind.js';

export interface MappedConnection {
  /** Unique in the switch: the side where the connection starts, in numbers. */
  readonly name: string;
  /** The two sides as written in the mapping. */
  readonly from: string;
  readonly to: string;
  readonly source: readonly number[];
  readonly destination: readonly number[];
}

/** An entry that repeats another one mirrored adds nothing. */
export function connectionsOf(properties: Properties): MappedConnection[] {
  const mappings = properties['mappings'];
  const found = new Map<string, MappedConnection>();
  if (typeof mappings !== 'object' || mappings === null) return [];
  for (const [first, second] of Object.entries(mappings)) {
    if (typeof second !== 'string') continue;
    for (const [from, to] of [
      [first, second],
      [second, first],
    ] as const) {
      const source = parseSide(from);
      const destination = parseSide(to);
      if (source === undefined || destination === undefined) continue;
      const name = source.join(':');
      if (!found.has(name)) found.set(name, { name, from, to, source, destination });
    }
  }
  return [...found.values()];
}

/** Makes the device's connections from the properties, each with its counter. */
export function deviceConnections<Connection>(
  properties: Properties,
  { countersOf }: DeviceOptions,
  make: (mapped: MappedConnection, counter: number) => Connection,
): Connection[] {
  const mapped = connectionsOf(properties);
  const counters = countersOf(mapped.map(({ name }) => name));
  return mapped.map((connection, index) => make(connection, counters[index] ?? 0));
}
