/** The slabs of shared memory. Only the HTTP thread gives them out. */
import koffi from 'koffi';
import { FreeList } from '../../base/memory/free-list.js';
import { newSlabs, SLAB_LENGTH, SLABS, slabView } from '../../base/memory/transfer-memory.js';
import { fromWholePage } from '../../base/disk/whole-pages.js';

type Copy = (to: number, from: Uint8Array, length: number) => void;

/**
 * V8 copies into shared memory byte by byte unless both sides are aligned alike, and data from the network never is. The
 * call of the C library takes a sixth of the time. It cannot be found on Windows.
 */
const memcpy =
  process.platform === 'win32'
    ? undefined
    : (koffi.load(null).func('void *memcpy(uintptr_t, const uint8_t *, size_t)') as Copy);

export class Slabs {
  readonly memory = newSlabs();
  readonly #bytes = slabBytes(this.memory);
  readonly #address = Number(koffi.address(this.#bytes));
  readonly #free = new FreeList(SLABS);
  readonly #waiting: ((slab: number) => void)[] = [];
  /** How many further holders each slab has. */
  readonly #sharers = new Uint8Array(SLABS);
  #taken = 0;

  get taken(): number {
    return this.#taken;
  }

  /** Undefined when no slab is free. */
  take(): number | undefined {
    const slab = this.#free.take();
    if (slab !== undefined) this.#taken++;
    return slab;
  }

  /** Waits for a free slab. */
  async next(): Promise<number> {
    return this.take() ?? new Promise((resolve) => this.#waiting.push(resolve));
  }

  /** Takes a slab that is taken for one more holder, which gives it back as well. */
  share(slab: number): void {
    this.#sharers[slab] = (this.#sharers[slab] ?? 0) + 1;
  }

  giveBack(slab: number): void {
    const sharers = this.#sharers[slab] ?? 0;
    if (sharers > 0) {
      this.#sharers[slab] = sharers - 1;
      return;
    }
    const next = this.#waiting.shift();
    if (next !== undefined) {
      next(slab);
      return;
    }
    this.#taken--;
    this.#free.giveBack(slab);
  }

  /** Copies the bytes into the slab at this offset. */
  fill(slab: number, start: number, bytes: Uint8Array): void {
    if (start + bytes.length > SLAB_LENGTH) throw new RangeError('a slab has no room for so much');
    if (memcpy === undefined) this.view(slab, start, start + bytes.length).set(bytes);
    else memcpy(this.#address + slab * SLAB_LENGTH + start, bytes, bytes.length);
  }

  view(slab: number, start: number, end: number): Uint8Array {
    return slabView(this.#bytes, slab, start, end);
  }
}

/** The bytes of all slabs, from the first whole page of the memory on, as direct writes need; the same in every thread. */

export function slabBytes(memory: SharedArrayBuffer): Uint8Array {
  return fromWholePage(memory, SLABS * SLAB_LENGTH);
}
