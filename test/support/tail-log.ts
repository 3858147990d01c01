/** A log that sources of live streams read from: in shared memory for some, in promises for others. */
import type { TailSource } from '../../src/http/streams/tail-flow.js';
import { seededRandom } from './seeded-random.js';

const LONGEST_VIEW = 64 * 1024;

export class TailLog {
  readonly bytes: Uint8Array;
  head = 0;
  isOver = false;
  closed = 0;
  opened = 0;
  readonly #waiting = new Set<() => void>();

  /** Its content is known beforehand; it comes into being with `append`. */
  constructor(size: number, seed: number) {
    this.bytes = new Uint8Array(new SharedArrayBuffer(size));
    const random = seededRandom(seed);
    for (let index = 0; index < size; index++) this.bytes[index] = Math.floor(random() * 256);
  }

  append(length: number): void {
    this.head = Math.min(this.bytes.length, this.head + length);
    this.#wake();
  }

  end(): void {
    this.isOver = true;
    this.#wake();
  }

  /** How many wait for more. */
  get waiting(): number {
    return this.#waiting.size;
  }

  /** Pieces of random lengths; `promised` is the share of those that come by a promise. */
  source(seed: number, promised: number): TailSource {
    this.opened++;
    const random = seededRandom(seed);
    let position = 0;
    let ready: () => void = () => undefined;
    let isClosed = false;
    const wake = (): void => {
      this.#waiting.delete(wake);
      ready();
    };
    return {
      next: (use) => {
        if (isClosed) throw new Error('it is closed');
        if (position === this.head) {
          if (this.isOver) return 'over';
          this.#waiting.add(wake);
          return 'nothing';
        }
        const isPromised = random() < promised;
        const longest = isPromised ? 4 * LONGEST_VIEW : LONGEST_VIEW;
        // Short ones as well as long ones.
        const length = Math.ceil(longest ** random());
        const piece = this.bytes.subarray(position, Math.min(this.head, position + length));
        position += piece.length;
        if (isPromised) return Promise.resolve(Uint8Array.from(piece));
        use(piece);
        return 'given';
      },
      onReady: (callback) => {
        ready = callback;
      },
      close: () => {
        isClosed = true;
        this.closed++;
        this.#waiting.delete(wake);
      },
    };
  }

  #wake(): void {
    for (const wake of [...this.#waiting]) wake();
  }
}
