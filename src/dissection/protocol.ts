/** The shape of a reader of one protocol. */
import type { Description } from './description.js';
import type { PacketNumbers } from './packet-numbers.js';

/**
 * A protocol is read in two steps, both of them total: any octets, any cut, no exception, no read beyond the end.
 * Each begins at `at`, sets `at` and `end` to the payload, and `next` (and `other`, if that is unknown) to its key.
 */
export interface Protocol {
  /** The word in lists and in filters. */
  readonly name: string;
  readonly title: string;
  /** Notes numbers only, for each packet that comes. */
  classify(numbers: PacketNumbers): void;
  /** Writes the summary and the fields, for packets that somebody looks at. */
  describe(description: Description): void;
}
