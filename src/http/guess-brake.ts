/**
 * Slows the guessing of passwords, for each address by itself. The first wrong passwords cost nothing. The answers to
 * further ones are delayed, so that there is one a second. While several answers are due, every request of the address
 * is refused, so more connections, or not waiting for answers, let it guess no faster.
 */
import type { Logger } from 'pino';

interface GuessBrakeOptions {
  readonly log: Pick<Logger, 'warn'>;
  /** Milliseconds of a clock that never goes back. */
  readonly now: () => number;
}

const PAID_MS = 1000;
const FREE_MS = 10 * PAID_MS;
const LONGEST_WAIT_MS = 4 * PAID_MS;
const MOST_ADDRESSES = 1024;
const LOG_PERIOD_MS = 60_000;
const LINES_OF_A_PERIOD = 10;

export class GuessBrake {
  readonly #options: GuessBrakeOptions;
  /**
   * When each address has paid for its wrong passwords, at a second each. The address with the latest guess is last.
   */
  readonly #paidAt = new Map<string, number>();
  #periodEnds = -Infinity;
  #lines = 0;
  #unlogged = 0;

  constructor(options: GuessBrakeOptions) {
    this.#options = options;
  }

  /** How long all requests of this address are refused; 0 when it may ask now. */
  closedMs(address: string): number {
    return Math.max(0, this.#owedMs(networkOf(address)) + PAID_MS - FREE_MS - LONGEST_WAIT_MS);
  }

  /** Notes a wrong password. Returns how long its answer has to wait. */
  wrong(address: string): number {
    const network = networkOf(address);
    const owed = this.#owedMs(network) + PAID_MS;
    this.#paidAt.delete(network);
    this.#paidAt.set(network, this.#options.now() + owed);
    const [oldest] = this.#paidAt.keys();
    if (this.#paidAt.size > MOST_ADDRESSES && oldest !== undefined) this.#paidAt.delete(oldest);
    this.#log(address);
    return Math.max(0, owed - FREE_MS);
  }

  #owedMs(network: string): number {
    return Math.max(0, (this.#paidAt.get(network) ?? -Infinity) - this.#options.now());
  }

  #log(address: string): void {
    const now = this.#options.now();
    if (now >= this.#periodEnds) {
      this.#periodEnds = now + LOG_PERIOD_MS;
      this.#lines = 0;
    }
    if (++this.#lines > LINES_OF_A_PERIOD) {
      this.#unlogged++;
      return;
    }
    const unlogged = this.#unlogged === 0 ? {} : { unlogged: this.#unlogged };
    this.#unlogged = 0;
    this.#options.log.warn({ address, ...unlogged }, 'a wrong user name or password');
  }
}

/** The address, or the /64 network of an IPv6 address, all of which one client has. The library does not abbreviate. */
function networkOf(address: string): string {
  const groups = address.split(':');
  const isMapped = groups.slice(0, 6).join(':') === '0000:0000:0000:0000:0000:ffff';
  return groups.length === 8 && !isMapped ? groups.slice(0, 4).join(':') : address;
}
