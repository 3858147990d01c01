/**
 * The time of day for records, read once per batch. It runs with the monotonic clock and follows the wall clock: when
 * that is set forward it jumps; when that is set back it runs at half speed until it is right. So times never go back.
 */
const CHECK_MS = 100;
const TOLERANCE_MS = 5;
const MS_A_SECOND = 1000;
const NS_A_MS = 1e6;
const NS_A_SECOND = 1e9;
const HALF_WORD = 2 ** 16;
const WORD = 2 ** 32;

export class TapClock {
  seconds = 0;
  nanoseconds = 0;
  /** The same in nanoseconds since 1970, as two words of one 64-bit number. */
  high = 0;
  low = 0;
  /** The same in milliseconds since 1970. */
  milliseconds = 0;
  readonly #monotonic: () => number;
  readonly #wall: () => number;
  /** The time of day minus the monotonic clock, in whole milliseconds. */
  #offset: number;
  #checkedAt: number;

  constructor(monotonic = (): number => performance.now(), wall = (): number => Date.now()) {
    this.#monotonic = monotonic;
    this.#wall = wall;
    this.#checkedAt = monotonic();
    this.#offset = Math.round(wall() - this.#checkedAt);
  }

  /** Reads the time into the fields. */
  read(): void {
    const now = this.#monotonic();
    if (now - this.#checkedAt >= CHECK_MS) this.#check(now);
    if (this.#offset + now <= this.milliseconds) return;
    this.milliseconds = this.#offset + now;
    const wholeMs = Math.floor(now);
    const ms = this.#offset + wholeMs;
    this.seconds = Math.floor(ms / MS_A_SECOND);
    this.nanoseconds = (ms - this.seconds * MS_A_SECOND) * NS_A_MS + Math.floor((now - wholeMs) * NS_A_MS);
    // In halves, because the product has more bits than a number holds.
    const upper = Math.floor(this.seconds / HALF_WORD) * NS_A_SECOND;
    const lower = (this.seconds % HALF_WORD) * NS_A_SECOND + this.nanoseconds;
    const rest = (upper % HALF_WORD) * HALF_WORD + lower;
    this.high = Math.floor(upper / HALF_WORD) + Math.floor(rest / WORD);
    this.low = rest % WORD;
  }

  /** Makes all times from now on later than this. */
  notBefore(milliseconds: number): void {
    const behind = milliseconds - (this.#offset + this.#monotonic());
    if (behind >= 0) this.#offset += Math.floor(behind) + 1;
  }

  #check(now: number): void {
    const ahead = this.#offset + now - this.#wall();
    if (ahead < -TOLERANCE_MS) this.#offset = Math.round(this.#wall() - now);
    else if (ahead > TOLERANCE_MS) {
      const elapsed = now - this.#checkedAt;
      this.#offset -= Math.floor(Math.min(ahead, elapsed / 2));
    }
    this.#checkedAt = now;
  }
}
