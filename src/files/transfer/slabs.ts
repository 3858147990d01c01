/** The slabs of shared memory on the HTTP thread, which alone gives them out. */
import koffi from 'koffi';
import { FreeList } from '../../base/memory/free-list.js';
import { newSlabs, SLAB_LENGTH, SLABS, slabView } from '../../base/memory/transfer-memory.js';
import { fromWholePage } from '../../base/disk/whole-pages.js';

type Copy = (to: number, from: Uint8Array, length: number) => void;

/**
 * The engine of the language copies into shared memory byte by byte when the two sides are not aligned alike, as
 * what comes from the network never is: the C library's call takes a sixth of the time. Windows has none to find.
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
  #taken = 0;

  get taken(): number {
    return this.#taken;
  }

  /** Undefined when there is none. */
  take(): number | undefined {
    const slab = this.#free.take();
    if (slab !== undefined) this.#taken++;
    return slab;
  }

  /** Waits for one. */
  async next(): Promise<number> {
    return this.take() ?? new Promise((resolve) => this.#waiting.push(resolve));
  }

  giveBack(slab: number): void {
    const next = this.#waiting.shift();
    if (next !== undefined) {
      next(slab);
      return;
    }
    this.#taken--;
    this.#free.giveBack(slab);
  }

  /** Copies the bytes to where the slab has room for them. */
  fill(slab: number, start: number, bytes: Uint8Array): void {
    if (start + bytes.length > SLAB_LENGTH) throw new RangeError('a slab has no room for so much');
    if (memcpy === undefined) this.view(slab, start, start + bytes.length).set(bytes);
    else memcpy(this.#address + slab * SLAB_LENGTH + start, bytes, bytes.length);
  }

  view(slab: number, start: number, end: number): Uint8Array {
    return slabView(this.#bytes, slab, start, end);
  }
}

/** The bytes of all slabs, from where they lie as a disk wants them. Every thread finds the same place. */

export function slabBytes(memory: SharedArrayBuffer): Uint8Array {
  return fromWholePage(memory, SLABS * SLAB_LENGTH);
}
