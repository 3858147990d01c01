/** The console port numbers of the local compute: reserved as long as their node's project is open. */

export const CONSOLE_PORT_RANGE = [5000, 10_000] as const;

export class ConsolePorts {
  readonly #reserved = new Set<number>();
  #firstFree: number = CONSOLE_PORT_RANGE[0];

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
    const [first, last] = CONSOLE_PORT_RANGE;
    return port >= first && port <= last && !this.#reserved.has(port);
  }

  #lowestFree(): number | null {
    while (this.#reserved.has(this.#firstFree)) this.#firstFree++;
    return this.#isFree(this.#firstFree) ? this.#firstFree : null;
  }
}
