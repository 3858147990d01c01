/**
 * The memory that frames lie in: slabs that the sockets fill with received frames, and behind them a workspace for the
 * frames that devices make themselves (a changed copy, an answer), which is emptied at the end of every turn.
 */

import { Offloads } from './offloads.js';

/** Each received message gets a slab, which has room for the largest message. */
export const SLABS = 64;
export const SLAB_LENGTH = 65_536;
/** Not a power of two: otherwise the starts of all slabs would share one set of the processor's cache. */
export const SLAB_STRIDE = SLAB_LENGTH + 5 * 64;
export const SLABS_LENGTH = SLABS * SLAB_STRIDE;
/** Room for what devices make within a turn: changed copies of a batch in several forms. */
export const WORKSPACE_LENGTH = 4 * 1024 * 1024;
export const FRAMES_LENGTH = SLABS_LENGTH + WORKSPACE_LENGTH;

export class FrameMemory {
  readonly bytes: Uint8Array;
  /** The frames of this turn that are not yet as a wire has them. */
  readonly offloads = new Offloads();
  readonly #start: number;
  readonly #end: number;
  #next: number;

  /** The workspace reaches from `start` to `end`. */
  constructor(bytes: Uint8Array, start: number, end = bytes.length) {
    this.bytes = bytes;
    this.#start = start;
    this.#end = end;
    this.#next = start;
  }

  /** Allocates room for one frame until the end of the turn; -1 when the workspace is used up. */
  take(length: number): number {
    const offset = this.#next;
    if (offset + length > this.#end) return -1;
    this.#next = offset + length;
    return offset;
  }

  endTurn(): void {
    this.#next = this.#start;
    this.offloads.clear();
  }
}
