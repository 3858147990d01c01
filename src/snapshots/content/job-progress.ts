/**
 * How far a long job is, and whether it is still wanted: shared by the thread that does it and the HTTP thread, which
 * looks when it likes.
 */
import { refusals } from '../../base/errors/errors.js';

const DONE = 0;
const TOTAL = 1;
const CANCELLED = 2;
const WORDS = 3;

export class JobProgress {
  readonly memory: SharedArrayBuffer;
  readonly #words: BigInt64Array<SharedArrayBuffer>;

  constructor(memory = new SharedArrayBuffer(WORDS * BigInt64Array.BYTES_PER_ELEMENT)) {
    this.memory = memory;
    this.#words = new BigInt64Array(memory);
  }

  /** In bytes. */
  get done(): number {
    return Number(Atomics.load(this.#words, DONE));
  }

  /** In bytes; 0 while it is not known. */
  get total(): number {
    return Number(Atomics.load(this.#words, TOTAL));
  }

  expect(bytes: number): void {
    Atomics.add(this.#words, TOTAL, BigInt(bytes));
  }

  /** Throws a refusal (409) when the job is no longer wanted: to be called every few milliseconds of work. */
  advance(bytes: number): void {
    Atomics.add(this.#words, DONE, BigInt(bytes));
    if (Atomics.load(this.#words, CANCELLED) !== 0n) throw refusals.jobCancelled();
  }

  cancel(): void {
    Atomics.store(this.#words, CANCELLED, 1n);
  }
}
