/**
 * The memory in which the taps of an engine reassemble AAL5 frames: pieces of three sizes, allocated on first use and
 * reused, up to a limit for the whole engine.
 */
import { AAL5_MOST_CELLS, CELL_PAYLOAD_LENGTH } from '../wire/aal5.js';
import { SUN_ATM_LENGTH } from '../wire/sun-atm.js';
import { spanOver, type ByteSpan } from './byte-span.js';

const LIMIT = 64 * 1024 * 1024;
/** The cells of a frame of 2,000 bytes, of 9,500 bytes, and of the longest. */
const SIZES: readonly number[] = [42, 199, AAL5_MOST_CELLS];

/** Room for a SUNATM header and a number of cells behind it. */
export interface Aal5Piece extends ByteSpan {
  readonly cells: number;
}

export class Aal5Memory {
  readonly #limit: number;
  readonly #free = new Map<number, Aal5Piece[]>(SIZES.map((cells) => [cells, []]));
  #made = 0;

  constructor(limit = LIMIT) {
    this.#limit = limit;
  }

  /** A piece with room for at least this many cells; undefined when the limit is reached. */
  take(cells: number): Aal5Piece | undefined {
    const size = SIZES.find((most) => most >= cells);
    if (size === undefined) return undefined;
    const piece = this.#free.get(size)?.pop();
    if (piece !== undefined) return piece;
    const length = lengthOf(size);
    if (this.#made + length > this.#limit) this.#forgetFree();
    if (this.#made + length > this.#limit) return undefined;
    this.#made += length;
    return { cells: size, ...spanOver(new Uint8Array(length)) };
  }

  giveBack(piece: Aal5Piece): void {
    this.#free.get(piece.cells)?.push(piece);
  }

  /** Frees the unused pieces: those of other sizes count towards the limit, too. */
  #forgetFree(): void {
    for (const [size, pieces] of this.#free) {
      this.#made -= pieces.length * lengthOf(size);
      pieces.length = 0;
    }
  }
}

function lengthOf(cells: number): number {
  return SUN_ATM_LENGTH + cells * CELL_PAYLOAD_LENGTH;
}
