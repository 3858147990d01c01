/** Numbers that one node at a time has: reserved as long as its project is open. */

export class NumberPool {
  readonly range: readonly [first: number, last: number];
  readonly #reserved = new Set<number>();
  #firstFree: number;

  constructor(range: readonly [first: number, last: number]) {
    this.range = range;
    [this.#firstFree] = range;
  }

  get reserved(): number[] {
    return [...this.#reserved].sort((a, b) => a - b);
  }

  /** The wanted number when it is free and in range, else the lowest free one; null when all are taken. */
  reserve(wanted: number | null | undefined): number | null {
    const number = wanted != null && this.#isFree(wanted) ? wanted : this.#lowestFree();
    if (number !== null) this.#reserved.add(number);
    return number;
  }

  release(number: number): void {
    if (this.#reserved.delete(number) && number < this.#firstFree) this.#firstFree = number;
  }

  #isFree(number: number): boolean {
    const [first, last] = this.range;
    return number >= first && number <= last && !this.#reserved.has(number);
  }

  #lowestFree(): number | null {
    while (this.#reserved.has(this.#firstFree)) this.#firstFree++;
    return this.#isFree(this.#firstFree) ? this.#firstFree : null;
  }
}
