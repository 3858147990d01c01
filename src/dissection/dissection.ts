/** Takes packets apart: numbers of each, and a description of those that somebody looks at. */
import { Description } from './description.js';
import type { PacketNumbers } from './packet-numbers.js';
import { keyOf, NOTHING, SPACE } from './protocol-keys.js';
import { PROTOCOLS, protocolAt } from './protocols.js';

/** A packet has no more layers than this: tags and headers may be stacked without end. */
const MOST_LAYERS = 24;
const WORD = 32;

/** Notes the numbers of the packet that lies from `at` to `end`. */
export function classify(
  numbers: PacketNumbers,
  octets: Uint8Array,
  at: number,
  end: number,
  linkType: number,
): void {
  numbers.begin(octets, at, end, keyOf(SPACE.link, linkType));
  for (let layer = 0; layer < MOST_LAYERS && numbers.at < numbers.end; layer++) {
    const number = protocolAt(numbers.next, numbers.other);
    if (number === 0) return;
    numbers.protocol = number;
    if (number < WORD) numbers.layersLow |= 1 << number;
    else numbers.layersHigh |= 1 << (number - WORD);
    numbers.next = NOTHING;
    numbers.other = NOTHING;
    PROTOCOLS[number]?.classify(numbers);
  }
}

/** Describes a whole packet, which is all that `octets` holds. */
export function describe(octets: Uint8Array, linkType: number): Description {
  const description = new Description(octets);
  description.next = keyOf(SPACE.link, linkType);
  for (let count = 0; count < MOST_LAYERS && description.at < description.end; count++) {
    const number = protocolAt(description.next, description.other);
    const protocol = PROTOCOLS[number];
    if (protocol === undefined) break;
    const isData = number === 0;
    const before = description.protocol;
    const layer = description.open(protocol.name, protocol.title);
    if (isData && before !== '') description.protocol = before;
    description.next = NOTHING;
    description.other = NOTHING;
    protocol.describe(description);
    layer.length = description.at - layer.at;
    if (isData) layer.summary = `${layer.length} octets`;
  }
  return description;
}
