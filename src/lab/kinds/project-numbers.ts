/** A number among the properties of a node that no other node of its project has, as the id of a Dynamips router. */
import { refusals } from '../../base/errors/errors.js';
import type { NodeKind, Properties } from './node-kind.js';

/**
 * The properties with the lowest free number, unless a number was given. Refuses (409) a number that another node has,
 * and a node for which no number is left.
 */
export function withProjectNumber(
  kind: NodeKind,
  given: Properties,
  others: () => Iterable<Properties>,
): Properties {
  if (kind.projectNumber === undefined) return given;
  const { property, last } = kind.projectNumber;
  const taken = new Set([...others()].map((properties) => properties[property]));
  const wanted = given[property];
  if (typeof wanted === 'number') {
    if (taken.has(wanted))
      throw refusals.propertyConflict(`The ${property} ${wanted} is that of another node`);
    return given;
  }
  for (let number = 1; number <= last; number++) {
    if (!taken.has(number)) return { ...given, [property]: number };
  }
  throw refusals.tooMany(`nodes of type ${kind.type} in this project`, last);
}
