/**
 * A map from integers to integers for the packet path: open addressing in typed arrays, at most half full, so that a
 * lookup touches one or two slots and allocates nothing.
 */
const EMPTY = -1;
const SMALLEST = 16;

export class IntTable {
  #keys = new Int32Array(SMALLEST).fill(EMPTY);
  #values = new Int32Array(SMALLEST);
  #mask = SMALLEST - 1;
  #size = 0;

  get size(): number {
    return this.#size;
  }

  /** The value, or -1. Keys are not negative. */
  get(key: number): number {
    const keys = this.#keys;
    for (let slot = spread(key) & this.#mask; ; slot = (slot + 1) & this.#mask) {
      const found = keys[slot];
      if (found === key) return this.#values[slot] ?? EMPTY;
      if (found === EMPTY) return EMPTY;
    }
  }

  set(key: number, value: number): void {
    if (this.#size * 2 >= this.#keys.length) this.#grow();
    let slot = spread(key) & this.#mask;
    while (this.#keys[slot] !== EMPTY && this.#keys[slot] !== key) slot = (slot + 1) & this.#mask;
    if (this.#keys[slot] === EMPTY) this.#size++;
    this.#keys[slot] = key;
    this.#values[slot] = value;
  }

  /** Moves later entries into the gap, so that no tombstones are needed. */
  delete(key: number): void {
    let gap = spread(key) & this.#mask;
    while (this.#keys[gap] !== key) {
      if (this.#keys[gap] === EMPTY) return;
      gap = (gap + 1) & this.#mask;
    }
    this.#size--;
    for (let slot = (gap + 1) & this.#mask; ; slot = (slot + 1) & this.#mask) {
      const moved = this.#keys[slot] ?? EMPTY;
      if (moved === EMPTY) break;
      const home = spread(moved) & this.#mask;
      // An entry may move into the gap only if its home slot is not behind the gap.
      if (((slot - home) & this.#mask) < ((slot - gap) & this.#mask)) continue;
      this.#keys[gap] = moved;
      this.#values[gap] = this.#values[slot] ?? 0;
      gap = slot;
    }
    this.#keys[gap] = EMPTY;
  }

  #grow(): void {
    const keys = this.#keys;
    const values = this.#values;
    this.#keys = new Int32Array(keys.length * 2).fill(EMPTY);
    this.#values = new Int32Array(keys.length * 2);
    this.#mask = this.#keys.length - 1;
    this.#size = 0;
    keys.forEach((key, slot) => {
      if (key !== EMPTY) this.set(key, values[slot] ?? 0);
    });
  }
}

/** A multiplicative hash: labels are often neighbours, and must not share one chain. */
function spread(key: number): number {
  const mixed = Math.imul(key, 0x9e3779b1);
  return mixed ^ (mixed >>> 15);
}
