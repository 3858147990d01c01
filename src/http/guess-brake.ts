/**
 * Slows the guessing of passwords, for each address apart. Some wrong ones are free. Each one after that is answered
 * when the one before has been paid for, at one a second. An address that has several of them unanswered is refused
 * whatever it sends, so it learns no more by asking on more connections, nor by not waiting for answers.
 */
import type { Logger } from 'pino';

export interface GuessBrakeOptions {
  readonly log: Pick<Logger, 'warn'>;
  /** Milliseconds that only go forward. */
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
  /** When all wrong passwords of an address will be paid for. The last one that guessed is last. */
  readonly #paidAt = new Map<string, number>();
  #periodEnds = -Infinity;
  #lines = 0;
  #unlogged = 0;

  constructor(options: GuessBrakeOptions) {
    this.#options = options;
  }

  /** How long nothing of this address is looked at; 0 when it may ask now. */
  closedMs(address: string): number {
    return Math.max(0, this.#owedMs(networkOf(address)) + PAID_MS - FREE_MS - LONGEST_WAIT_MS);
  }

  /** A password was wrong. Returns how long the answer has to wait. */
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

/** A client with one IPv6 address has a /64 of them. The library writes addresses without abbreviation. */
function networkOf(address: string): string {
  const groups = address.split(':');
  const isMapped = groups.slice(0, 6).join(':') === '0000:0000:0000:0000:0000:ffff';
  return groups.length === 8 && !isMapped ? groups.slice(0, 4).join(':') : address;
}
