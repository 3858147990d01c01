/** Hands out numbers below a limit, each to one holder at a time; the number returned last is reused first. */
export class FreeList {
  readonly #limit: number;
  readonly #returned: number[] = [];
  #fresh = 0;

  constructor(limit: number) {
    this.#limit = limit;
  }

  /** Numbers from this one on have never been taken. */
  get used(): number {
    return this.#fresh;
  }

  /** How many numbers are taken now. */
  get taken(): number {
    return this.#fresh - this.#returned.length;
  }

  /** Undefined when all numbers are taken. */
  take(): number | undefined {
    return this.#returned.pop() ?? (this.#fresh < this.#limit ? this.#fresh++ : undefined);
  }

  giveBack(number: number): void {
    this.#returned.push(number);
  }
}
