/** Every cell is a packet, as an ERF record. What is no cell is left out. */
import { CELL_LENGTH, vpiOf } from '../../wire/atm-cell.js';
import { CELL_PAYLOAD_LENGTH } from '../../wire/aal5.js';
import { ERF_CELL_LENGTH, writeErfCellHeader } from '../../wire/erf.js';
import { PACKET_FLAG } from '../../wire/pcapng.js';
import type { Batch } from '../batch.js';
import { copyOctets, octetsOver, type Octets } from './octets.js';
import { untoldVpi } from './record-form.js';
import type { Recorder } from './recorder.js';
import type { Packets } from './tap.js';
import type { TapClock } from './tap-clock.js';

export class ErfCells implements Packets {
  readonly leastKept = ERF_CELL_LENGTH;
  readonly #octets: Octets;
  readonly #clock: TapClock;
  readonly #record = octetsOver(new Uint8Array(ERF_CELL_LENGTH));

  constructor(octets: Octets, clock: TapClock) {
    this.#octets = octets;
    this.#clock = clock;
  }

  take({ offsets, lengths, count }: Batch, isOut: boolean, recorder: Recorder): void {
    const { view } = this.#octets;
    const { seconds, nanoseconds } = this.#clock;
    const flags = isOut ? PACKET_FLAG.outbound : PACKET_FLAG.inbound;
    for (let index = 0; index < count; index++) {
      if (lengths[index] !== CELL_LENGTH) continue;
      const offset = offsets[index] ?? 0;
      const header = view.getInt32(offset);
      const record = this.#record;
      const payload = writeErfCellHeader(record.view, 0, seconds, nanoseconds, isOut, header);
      const end = offset + CELL_LENGTH;
      copyOctets(view, end - CELL_PAYLOAD_LENGTH, record.view, payload, CELL_PAYLOAD_LENGTH);
      recorder.keep(record, 0, ERF_CELL_LENGTH, flags, untoldVpi(vpiOf(header)));
    }
  }

  close(): void {
    // Nothing is left over between batches.
  }
}
