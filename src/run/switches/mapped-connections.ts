/** The connections that the `mappings` of an ATM or Frame Relay switch mean: two for each entry, one a direction. */
import { parseSide } from '../../lab/kinds/mapping.js';
import type { Properties } from '../../lab/kinds/node-kind.js';

export interface MappedConnection {
  /** Tells it from all others of the switch: where it starts, in numbers. */
  readonly name: string;
  /** The ends as the mapping has them. */
  readonly from: string;
  readonly to: string;
  readonly source: readonly number[];
  readonly destination: readonly number[];
}

/** An entry that repeats another one mirrored means nothing more. */
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
