/**
 * The memory that frames lie in. Received frames lie in slabs that the sockets fill; what a device makes itself
 * (a changed copy, an answer) is taken from a workspace that is emptied at the end of every turn.
 */
export class FrameMemory {
  readonly bytes: Uint8Array;
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

  /** Room for one frame until the end of the turn; -1 when the workspace is used up. */
  take(length: number): number {
    const offset = this.#next;
    if (offset + length > this.#end) return -1;
    this.#next = offset + length;
    return offset;
  }

  endTurn(): void {
    this.#next = this.#start;
  }
}
