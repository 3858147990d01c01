/**
 * AAL5 frames, put together from cells, are the packets; their time is that of their last cell. What is no cell is
 * left out. A faulty frame is recorded with padding and trailer, and pcapng says what is wrong with it.
 */
import { CELL_LENGTH, vpiOf } from '../wire/atm-cell.js';
import { PACKET_FLAG } from '../wire/pcapng.js';
import { SUN_ATM_LENGTH, writeSunAtmHeader } from '../wire/sun-atm.js';
import type { Batch } from '../forwarding/batch.js';
import type { Aal5Memory } from './aal5-memory.js';
import type { Octets } from './octets.js';
import { Reassembly } from './reassembly.js';
import { untoldVpi } from './record-form.js';
import type { Recorder } from './recorder.js';
import type { Packets } from './tap.js';
import type { TapClock } from './tap-clock.js';

export class Aal5Frames implements Packets {
  readonly leastKept = SUN_ATM_LENGTH;
  readonly #octets: Octets;
  readonly #clock: TapClock;
  readonly #reassembly: Reassembly;

  constructor(octets: Octets, clock: TapClock, memory: Aal5Memory) {
    this.#octets = octets;
    this.#clock = clock;
    this.#reassembly = new Reassembly(memory);
  }

  take(frames: Batch, isOut: boolean, recorder: Recorder): void {
    const { offsets, lengths, count } = frames;
    const { view } = this.#octets;
    const { seconds } = this.#clock;
    const reassembly = this.#reassembly;
    let index = 0;
    while ((index = reassembly.goOn(view, frames, index, isOut, seconds)) < count) {
      const offset = offsets[index] ?? 0;
      if (lengths[index++] !== CELL_LENGTH || !reassembly.take(view, offset, isOut, seconds)) continue;
      this.#record(view.getInt32(offset), isOut, recorder);
    }
    recorder.log.aal5NoRoom += reassembly.givenUp;
    reassembly.givenUp = 0;
  }

  close(): void {
    this.#reassembly.close();
  }

  #record(header: number, isOut: boolean, recorder: Recorder): void {
    const { piece, length, faults } = this.#reassembly;
    if (piece === undefined) return;
    const vpi = vpiOf(header);
    writeSunAtmHeader(piece.view, 0, isOut, vpi, (header >>> 4) & 0xffff);
    if (faults !== 0) recorder.log.aal5Faulty++;
    const direction = isOut ? PACKET_FLAG.outbound : PACKET_FLAG.inbound;
    const flags = direction | (faults * PACKET_FLAG.crcError);
    recorder.keep(piece, 0, SUN_ATM_LENGTH + length, flags, untoldVpi(vpi));
  }
}
