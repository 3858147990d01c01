/** Text that is made while it is sent, in slices of a millisecond, so that a long one holds the thread for nobody. */
import { LARGEST_PIECE, type TailSource } from './streams/tail-flow.js';

const SLICE_MS = 1;

export class SlicedText implements TailSource {
  readonly #pieces: Iterator<string>;
  /** Text that has been made and not been given. */
  #left = Buffer.alloc(0);
  #sliceEnd: number | undefined;
  #isOver = false;
  #ready: () => void = () => undefined;

  /** A piece is made in much less than a slice. */
  constructor(pieces: Iterable<string>) {
    this.#pieces = pieces[Symbol.iterator]();
  }

  next(use: (bytes: Uint8Array) => void): 'given' | 'nothing' | 'over' {
    if (this.#left.length === 0 && !this.#make()) {
      setImmediate(this.#ready);
      return 'nothing';
    }
    if (this.#left.length === 0) return 'over';
    const piece = this.#left.subarray(0, LARGEST_PIECE);
    this.#left = this.#left.subarray(LARGEST_PIECE);
    use(piece);
    return 'given';
  }

  onReady(callback: () => void): void {
    this.#ready = callback;
  }

  close(): void {
    this.#pieces.return?.();
  }

  /** Makes text until there is enough for a piece, or the slice is over. False when there is none in this slice. */
  #make(): boolean {
    this.#sliceEnd ??= performance.now() + SLICE_MS;
    let text = '';
    while (!this.#isOver && text.length < LARGEST_PIECE && performance.now() < this.#sliceEnd) {
      const step = this.#pieces.next();
      if (step.done === true) this.#isOver = true;
      else text += step.value;
    }
    this.#left = Buffer.from(text);
    if (text !== '' || this.#isOver) return true;
    this.#sliceEnd = undefined;
    return false;
  }
}
