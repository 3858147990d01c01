/** Numbers below a limit, each given to one holder at a time, the one given back last first. */
export class FreeList {
  readonly #limit: number;
  readonly #returned: number[] = [];
  #fresh = 0;

  constructor(limit: number) {
    this.#limit = limit;
  }

  /** Undefined when all are taken. */
  take(): number | undefined {
    return this.#returned.pop() ?? (this.#fresh < this.#limit ? this.#fresh++ : undefined);
  }

  giveBack(number: number): void {
    this.#returned.push(number);
  }
}
