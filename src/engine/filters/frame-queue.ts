/**
 * A queue of frames that wait for their time, copied out of frame memory. It allocates memory as needed, up to a fixed
 * limit, and frees it when a burst is over.
 */

export const MOST_WAITING_FRAMES = 16_384;
export const MOST_WAITING_BYTES = 16 * 1024 * 1024;

/** The smallest capacity in bytes; doubled until everything fits. */
const LEAST_BYTES = 8192;
/** The smallest capacity in frames. Capacities are powers of two. */
const LEAST_SLOTS = 64;
/** The most bytes that an empty queue keeps for the next burst. */
const KEPT_BYTES = 1024 * 1024;

export class FrameQueue {
  #bytes = new Uint8Array(0);
  #end = 0;
  #starts = new Int32Array(0);
  #lengths = new Int32Array(0);
  #dueTimes = new Float64Array(0);
  #first = 0;
  #count = 0;
  #used = 0;

  get count(): number {
    return this.#count;
  }

  /** When the first frame is due; Infinity when there is none. */
  get dueAt(): number {
    return this.#count === 0 ? Infinity : (this.#dueTimes[this.#first] ?? Infinity);
  }

  /** The length of the first frame. */
  get length(): number {
    return this.#lengths[this.#first] ?? 0;
  }

  /** Appends a copy of a frame; returns whether there was room for it. */
  add(from: Uint8Array, offset: number, length: number, dueAt: number): boolean {
    if (this.#count === MOST_WAITING_FRAMES) return false;
    if (this.#count === this.#dueTimes.length) this.#addSlots();
    let start = this.#roomFor(length);
    if (start < 0) {
      if (!this.#grow(length)) return false;
      start = this.#end;
    }
    this.#bytes.set(from.subarray(offset, offset + length), start);
    const slot = (this.#first + this.#count) & (this.#dueTimes.length - 1);
    this.#starts[slot] = start;
    this.#lengths[slot] = length;
    this.#dueTimes[slot] = dueAt;
    this.#end = start + length;
    this.#count++;
    this.#used += length;
    return true;
  }

  /** Takes the first frame out, and copies it to `offset` of `to`. */
  move(to: Uint8Array, offset: number): void {
    const start = this.#starts[this.#first] ?? 0;
    to.set(this.#bytes.subarray(start, start + this.length), offset);
    this.discard();
  }

  /** Drops the first frame. */
  discard(): void {
    this.#used -= this.length;
    this.#count--;
    this.#first = (this.#first + 1) & (this.#dueTimes.length - 1);
    if (this.#count === 0 && this.#bytes.length > KEPT_BYTES) this.clear();
  }

  clear(): void {
    this.#bytes = new Uint8Array(0);
    this.#starts = new Int32Array(0);
    this.#lengths = new Int32Array(0);
    this.#dueTimes = new Float64Array(0);
    this.#end = 0;
    this.#first = 0;
    this.#count = 0;
    this.#used = 0;
  }

  /** The offset of a contiguous free stretch; -1 when there is none. */
  #roomFor(length: number): number {
    const capacity = this.#bytes.length;
    if (this.#used === 0) return length <= capacity ? 0 : -1;
    const head = this.#starts[this.#first] ?? 0;
    if (this.#end <= head) return this.#end + length <= head ? this.#end : -1;
    if (this.#end + length <= capacity) return this.#end;
    return length <= head ? 0 : -1;
  }

  /** Moves all frames to the start of larger memory; false when the limit is reached. */
  #grow(length: number): boolean {
    let capacity = Math.max(LEAST_BYTES, 2 * this.#bytes.length);
    while (capacity < this.#used + length) capacity *= 2;
    if (capacity > MOST_WAITING_BYTES) return false;
    const bytes = new Uint8Array(capacity);
    let end = 0;
    for (let index = 0; index < this.#count; index++) {
      const slot = (this.#first + index) & (this.#dueTimes.length - 1);
      const start = this.#starts[slot] ?? 0;
      const size = this.#lengths[slot] ?? 0;
      bytes.set(this.#bytes.subarray(start, start + size), end);
      this.#starts[slot] = end;
      end += size;
    }
    this.#bytes = bytes;
    this.#end = end;
    return true;
  }

  #addSlots(): void {
    const capacity = Math.max(LEAST_SLOTS, 2 * this.#dueTimes.length);
    this.#starts = unrolled(this.#starts, this.#first, new Int32Array(capacity));
    this.#lengths = unrolled(this.#lengths, this.#first, new Int32Array(capacity));
    this.#dueTimes = unrolled(this.#dueTimes, this.#first, new Float64Array(capacity));
    this.#first = 0;
  }
}

/** Copies a full ring into larger memory, its first entry at the start. */
function unrolled<Ring extends Int32Array | Float64Array>(ring: Ring, first: number, larger: Ring): Ring {
  larger.set(ring.subarray(first));
  larger.set(ring.subarray(0, first), ring.length - first);
  return larger;
}
