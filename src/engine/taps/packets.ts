/** The ways to turn frames of a port into packets: each frame, AAL5 frames reassembled from cells, or each cell. */
import { CELL_PAYLOAD_LENGTH } from '../wire/aal5.js';
import { CELL_LENGTH, vpiOf } from '../wire/atm-cell.js';
import { ERF_CELL_LENGTH, erfFraction, writeErfCellHeader } from '../wire/erf.js';
import { PACKET_FLAG } from '../wire/pcapng.js';
import { SUN_ATM_LENGTH, writeSunAtmHeader } from '../wire/sun-atm.js';
import type { Batch } from '../forwarding/port.js';
import type { Aal5Memory } from './aal5-memory.js';
import { copyBytes, type ByteSpan } from './byte-span.js';
import { Reassembly } from './reassembly.js';
import { NOT_KEPT, wideVpi, type Recorder } from './recorder.js';
import type { TapClock } from './tap-clock.js';

export interface Packets {
  /** The least number of bytes to keep of a packet. */
  readonly leastKept: number;
  take(frames: Batch, isOut: boolean, recorder: Recorder): void;
  close(): void;
}

/** Every frame is a packet. */
export class WholeFrames implements Packets {
  readonly leastKept = 0;
  readonly #memory: ByteSpan;

  constructor(memory: ByteSpan) {
    this.#memory = memory;
  }

  take({ offsets, lengths, count }: Batch, isOut: boolean, recorder: Recorder): void {
    const flags = isOut ? PACKET_FLAG.outbound : PACKET_FLAG.inbound;
    for (let index = 0; index < count; index++) {
      recorder.keep(this.#memory, offsets[index] ?? 0, lengths[index] ?? 0, flags, 0);
    }
  }

  close(): void {
    // Nothing is left over between batches.
  }
}

/**
 * AAL5 frames, reassembled from cells, are the packets; their time is that of their last cell. Frames that are not
 * cells are left out. A faulty AAL5 frame is recorded with padding and trailer, and pcapng flags name the fault.
 */
export class Aal5Frames implements Packets {
  readonly leastKept = SUN_ATM_LENGTH;
  readonly #memory: ByteSpan;
  readonly #clock: TapClock;
  readonly #reassembly: Reassembly;

  constructor(memory: ByteSpan, clock: TapClock, aal5: Aal5Memory) {
    this.#memory = memory;
    this.#clock = clock;
    this.#reassembly = new Reassembly(aal5);
  }

  take(frames: Batch, isOut: boolean, recorder: Recorder): void {
    const { offsets, lengths, count } = frames;
    const { view } = this.#memory;
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
    recorder.keep(piece, 0, SUN_ATM_LENGTH + length, flags, wideVpi(vpi));
  }
}

/** Every cell is a packet, as an ERF record. Frames that are not cells are left out. */
export class ErfCells implements Packets {
  readonly leastKept = ERF_CELL_LENGTH;
  readonly #memory: ByteSpan;
  readonly #clock: TapClock;

  constructor(memory: ByteSpan, clock: TapClock) {
    this.#memory = memory;
    this.#clock = clock;
  }

  take({ offsets, lengths, count }: Batch, isOut: boolean, recorder: Recorder): void {
    const { view } = this.#memory;
    const { seconds } = this.#clock;
    const fraction = erfFraction(this.#clock.nanoseconds);
    const flags = isOut ? PACKET_FLAG.outbound : PACKET_FLAG.inbound;
    for (let index = 0; index < count; index++) {
      if (lengths[index] !== CELL_LENGTH) continue;
      const offset = offsets[index] ?? 0;
      const header = view.getInt32(offset);
      const vpi = wideVpi(vpiOf(header));
      const at = recorder.begin(ERF_CELL_LENGTH, flags, vpi);
      if (at === NOT_KEPT) continue;
      const to = recorder.log.view;
      const payload = writeErfCellHeader(to, at, seconds, fraction, isOut, header);
      copyBytes(view, offset + CELL_LENGTH - CELL_PAYLOAD_LENGTH, to, payload, CELL_PAYLOAD_LENGTH);
      recorder.end(ERF_CELL_LENGTH);
    }
  }

  close(): void {
    // Nothing is left over between batches.
  }
}
