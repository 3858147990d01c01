/**
 * Shared memory in which job threads hand over the bytes of archives. If each piece had memory of its own, the HTTP thread
 * would have to collect so much garbage that its event loop stood still for 100 ms at a time.
 */

/** A piece has 512 KiB, and once more what was added last. */
const ROOM_LENGTH = 1024 * 1024 + 16 * 1024;
/** More than these are given back to the system. */
const MOST_FREE = 32;

export class PieceRooms {
  readonly #free: SharedArrayBuffer[] = [];

  take(): SharedArrayBuffer {
    return this.#free.pop() ?? new SharedArrayBuffer(ROOM_LENGTH);
  }

  giveBack(room: SharedArrayBuffer): void {
    if (this.#free.length < MOST_FREE) this.#free.push(room);
  }
}
