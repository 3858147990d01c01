/** Every frame is a packet. */
import { PACKET_FLAG } from '../wire/pcapng.js';
import type { Batch } from '../forwarding/batch.js';
import type { Octets } from './octets.js';
import type { Recorder } from './recorder.js';
import type { Packets } from './tap.js';

export class WholeFrames implements Packets {
  readonly leastKept = 0;
  readonly #octets: Octets;

  constructor(octets: Octets) {
    this.#octets = octets;
  }

  take({ offsets, lengths, count }: Batch, isOut: boolean, recorder: Recorder): void {
    const flags = isOut ? PACKET_FLAG.outbound : PACKET_FLAG.inbound;
    for (let index = 0; index < count; index++) {
      recorder.keep(this.#octets, offsets[index] ?? 0, lengths[index] ?? 0, flags, 0);
    }
  }

  close(): void {
    // Nothing is left over between batches.
  }
}
