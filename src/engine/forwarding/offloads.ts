/** The frames of a turn that travel with an offload, by where they lie. It is empty when no guest has left work to others. */
import { shiftedOffload, type Offload } from '../wire/offload.js';

export interface Piece {
  readonly offset: number;
  readonly length: number;
}

interface OffloadedFrame {
  readonly offload: Offload;
  /** The frames that were made of it: all ports to which it goes share them. */
  pieces: readonly Piece[] | undefined;
}

export class Offloads {
  isEmpty = true;
  readonly #byOffset = new Map<number, OffloadedFrame>();

  note(offset: number, offload: Offload): void {
    this.isEmpty = false;
    this.#byOffset.set(offset, { offload, pieces: undefined });
  }

  at(offset: number): OffloadedFrame | undefined {
    return this.#byOffset.get(offset);
  }

  /** Notes the offload of a copy that has more tags, or fewer. */
  follow(offset: number, copy: number, growth: number): void {
    const frame = this.at(offset);
    if (frame !== undefined) this.note(copy, shiftedOffload(frame.offload, growth));
  }

  clear(): void {
    if (this.isEmpty) return;
    this.isEmpty = true;
    this.#byOffset.clear();
  }
}
