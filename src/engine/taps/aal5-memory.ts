/**
 * The memory in which taps of an engine put AAL5 frames together: pieces of three sizes, made when they are first
 * needed and used again, up to a limit for the whole engine.
 */
import { AAL5_MOST_CELLS, CELL_PAYLOAD_LENGTH } from '../wire/aal5.js';
import { SUN_ATM_LENGTH } from '../wire/sun-atm.js';
import { octetsOver, type Octets } from './octets.js';

const LIMIT = 64 * 1024 * 1024;
/** Cells of a frame of 2,000 octets, of one of 9,500, of the longest. */
const SIZES: readonly number[] = [42, 199, AAL5_MOST_CELLS];

/** Room for the header of a record and a number of cells behind it. */
export interface Aal5Piece extends Octets {
  readonly cells: number;
}

export class Aal5Memory {
  readonly #limit: number;
  readonly #free = new Map<number, Aal5Piece[]>(SIZES.map((cells) => [cells, []]));
  #made = 0;

  constructor(limit = LIMIT) {
    this.#limit = limit;
  }

  /** For at least so many cells; undefined when the limit is reached. */
  take(cells: number): Aal5Piece | undefined {
    const size = SIZES.find((most) => most >= cells);
    if (size === undefined) return undefined;
    const piece = this.#free.get(size)?.pop();
    if (piece !== undefined) return piece;
    const length = lengthOf(size);
    if (this.#made + length > this.#limit) this.#forgetFree();
    if (this.#made + length > this.#limit) return undefined;
    this.#made += length;
    return { cells: size, ...octetsOver(new Uint8Array(length)) };
  }

  giveBack(piece: Aal5Piece): void {
    this.#free.get(piece.cells)?.push(piece);
  }

  /** Pieces of other sizes may stand in the way. */
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
