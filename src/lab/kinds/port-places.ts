/** Where the ports of a program are at its device: the index follows from adapter and port alone, whatever else the node has. */
import type { ProgramKind } from './node-kind.js';
import type { NodePort } from './port.js';

/** The ports by their indexes. */
export function portPlaces(
  { portsOfAdapter = 1 }: Pick<ProgramKind, 'portsOfAdapter'>,
  ports: readonly NodePort[],
): ReadonlyMap<number, NodePort> {
  return new Map(
    ports.map((place) => [place.adapter_number * portsOfAdapter + place.port_number, place] as const),
  );
}
