/** The progress of a long job and its cancellation, in memory that the HTTP thread and the thread of the job share. */
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

  /** In bytes; 0 until it is known. */
  get total(): number {
    return Number(Atomics.load(this.#words, TOTAL));
  }

  expect(bytes: number): void {
    Atomics.add(this.#words, TOTAL, BigInt(bytes));
  }

  /** Throws a refusal (409) when the job was cancelled; call it every few milliseconds of work. */
  advance(bytes: number): void {
    Atomics.add(this.#words, DONE, BigInt(bytes));
    if (Atomics.load(this.#words, CANCELLED) !== 0n) throw refusals.jobCancelled();
  }

  cancel(): void {
    Atomics.store(this.#words, CANCELLED, 1n);
  }
}
