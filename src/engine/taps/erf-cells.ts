/** Every cell is a packet, as an ERF record. What is no cell is left out. */
import { CELL_LENGTH, vpiOf } from '../wire/atm-cell.js';
import { CELL_PAYLOAD_LENGTH } from '../wire/aal5.js';
import { ERF_CELL_LENGTH, erfFraction, writeErfCellHeader } from '../wire/erf.js';
import { PACKET_FLAG } from '../wire/pcapng.js';
import type { Batch } from '../forwarding/batch.js';
import { copyOctets, type Octets } from './octets.js';
import { untoldVpi } from './record-form.js';
import { NOT_KEPT, type Recorder } from './recorder.js';
import type { Packets } from './tap.js';
import type { TapClock } from './tap-clock.js';

export class ErfCells implements Packets {
  readonly leastKept = ERF_CELL_LENGTH;
  readonly #octets: Octets;
  readonly #clock: TapClock;

  constructor(octets: Octets, clock: TapClock) {
    this.#octets = octets;
    this.#clock = clock;
  }

  take({ offsets, lengths, count }: Batch, isOut: boolean, recorder: Recorder): void {
    const { view } = this.#octets;
    const { seconds } = this.#clock;
    const fraction = erfFraction(this.#clock.nanoseconds);
    const flags = isOut ? PACKET_FLAG.outbound : PACKET_FLAG.inbound;
    for (let index = 0; index < count; index++) {
      if (lengths[index] !== CELL_LENGTH) continue;
      const offset = offsets[index] ?? 0;
      const header = view.getInt32(offset);
      const vpi = untoldVpi(vpiOf(header));
      const place = recorder.begin(ERF_CELL_LENGTH, flags, vpi);
      if (place === NOT_KEPT) continue;
      const to = recorder.log.view;
      const payload = writeErfCellHeader(to, place, seconds, fraction, isOut, header);
      copyOctets(view, offset + CELL_LENGTH - CELL_PAYLOAD_LENGTH, to, payload, CELL_PAYLOAD_LENGTH);
      recorder.end(ERF_CELL_LENGTH);
    }
  }

  close(): void {
    // Nothing is left over between batches.
  }
}
