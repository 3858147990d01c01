/**
 * UDP port numbers, reserved for one project at a time: the lowest that is not reserved and can be bound. A number
 * is taken before the host is asked, so that simultaneous requests get different numbers.
 */
import { refusals } from '../../base/errors/errors.js';

/** The pair of UDP ports on 127.0.0.1 between an adapter of a program and the engine. */
export interface AdapterWire {
  readonly programPort: number;
  readonly enginePort: number;
}

export class UdpPorts {
  readonly range: readonly [first: number, last: number];
  readonly #isFree: (port: number) => Promise<boolean>;
  /** The owner of each reserved port. */
  readonly #owners = new Map<number, string>();
  #lowest: number;

  constructor(range: readonly [first: number, last: number], isFree: (port: number) => Promise<boolean>) {
    this.range = range;
    this.#isFree = isFree;
    [this.#lowest] = range;
  }

  get reserved(): number[] {
    return [...this.#owners.keys()].sort((a, b) => a - b);
  }

  async reserve(owner: string): Promise<number> {
    const [first, last] = this.range;
    let reason = 'all are given out';
    for (let port = this.#lowest; port <= last; port++) {
      if (this.#owners.has(port)) {
        if (port === this.#lowest) this.#lowest++;
        continue;
      }
      this.#owners.set(port, owner);
      if (await this.#isFree(port)) return port;
      this.release(port, owner);
      reason = `port ${port} is in use by another program`;
    }
    throw refusals.udpPortsTaken(first, last, reason);
  }

  /** Reserves the highest one for a moment: a lab that comes back finds the low ones free that it had. */
  async borrow(owner: string): Promise<number> {
    const [first, last] = this.range;
    for (let port = last; port >= first; port--) if (await this.take(port, owner)) return port;
    throw refusals.udpPortsTaken(first, last, 'all are given out');
  }

  /** Reserves this number. Resolves with false when it is out of range, given out, or in use by another program. */
  async take(port: number, owner: string): Promise<boolean> {
    const [first, last] = this.range;
    if (port < first || port > last || this.#owners.has(port)) return false;
    this.#owners.set(port, owner);
    if (await this.#isFree(port)) return true;
    this.release(port, owner);
    return false;
  }

  /** Reserves a number that a program of the owner uses already. */
  hold(port: number, owner: string): void {
    if (!this.#owners.has(port)) this.#owners.set(port, owner);
  }

  /** Does nothing when the port is not this owner's. */
  release(port: number, owner: string): void {
    if (this.#owners.get(port) !== owner) return;
    this.#owners.delete(port);
    this.#lowest = Math.min(this.#lowest, port);
  }

  releaseAllOf(owner: string): void {
    for (const [port, known] of this.#owners) if (known === owner) this.release(port, owner);
  }
}
