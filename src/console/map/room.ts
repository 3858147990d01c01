/** Room for words on the screen: what has been placed is not covered by another. */

const CELL_WIDTH = 16;
const CELL_HEIGHT = 8;

export class Room {
  #cells = new Uint8Array(0);
  #columns = 0;
  #rows = 0;

  /** Frees everything. */
  reset(width: number, height: number): void {
    this.#columns = Math.ceil(width / CELL_WIDTH);
    this.#rows = Math.ceil(height / CELL_HEIGHT);
    const size = this.#columns * this.#rows;
    if (this.#cells.length < size) this.#cells = new Uint8Array(size);
    else this.#cells.fill(0, 0, size);
  }

  /** Takes the room, if all of it is on the screen and free. */
  take(left: number, top: number, width: number, height: number): boolean {
    const [first, last] = [Math.floor(left / CELL_WIDTH), Math.floor((left + width) / CELL_WIDTH)];
    const [upper, lower] = [Math.floor(top / CELL_HEIGHT), Math.floor((top + height) / CELL_HEIGHT)];
    if (first < 0 || upper < 0 || last >= this.#columns || lower >= this.#rows) return false;
    for (let row = upper; row <= lower; row++)
      for (let column = first; column <= last; column++)
        if (this.#cells[row * this.#columns + column] !== 0) return false;
    for (let row = upper; row <= lower; row++)
      this.#cells.fill(1, row * this.#columns + first, row * this.#columns + last + 1);
    return true;
  }
}
