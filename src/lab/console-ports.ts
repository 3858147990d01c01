/** The console port numbers of the local compute: reserved as long as their node's project is open. */

export class ConsolePorts {
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

  /** The wanted port when it is free and in range, else the lowest free one; null when all are taken. */
  reserve(wanted: number | null | undefined): number | null {
    const port = wanted != null && this.#isFree(wanted) ? wanted : this.#lowestFree();
    if (port !== null) this.#reserved.add(port);
    return port;
  }

  release(port: number): void {
    if (this.#reserved.delete(port) && port < this.#firstFree) this.#firstFree = port;
  }

  #isFree(port: number): boolean {
    const [first, last] = this.range;
    return port >= first && port <= last && !this.#reserved.has(port);
  }

  #lowestFree(): number | null {
    while (this.#reserved.has(this.#firstFree)) this.#firstFree++;
    return this.#isFree(this.#firstFree) ? this.#firstFree : null;
  }
}
