/** Bytes that another host has, as the source of a response: fetched piece by piece, at the pace of the client. */
import type { PieceSource } from './streams/sized-response.js';

/** So much is fetched, and held, at once. */
const PIECE_LENGTH = 1024 * 1024;

/** Reads the bytes from `start` on, before `end`. */
type Fetch = (start: number, end: number, signal: AbortSignal) => Promise<Uint8Array>;

export class FetchedSource implements PieceSource {
  readonly #fetch: Fetch;
  readonly #start: number;
  readonly #end: number;
  readonly #ending = new AbortController();
  #piece: { readonly position: number; readonly bytes: Uint8Array } | undefined;

  /** Positions count from `start`; bytes from `end` on are not given. */
  constructor(fetch: Fetch, start: number, end: number) {
    this.#fetch = fetch;
    this.#start = start;
    this.#end = end;
  }

  give(position: number, length: number, use: (bytes: Uint8Array) => void): 'given' | Promise<void> {
    const offset = position - (this.#piece?.position ?? 0);
    if (this.#piece === undefined || offset < 0 || offset >= this.#piece.bytes.length)
      return this.#fetchFrom(position);
    use(this.#piece.bytes.subarray(offset, offset + length));
    return 'given';
  }

  close(): void {
    this.#ending.abort();
    this.#piece = undefined;
  }

  async #fetchFrom(position: number): Promise<void> {
    const from = this.#start + position;
    const end = Math.min(this.#end, from + PIECE_LENGTH);
    this.#piece = undefined;
    this.#piece = { position, bytes: await this.#fetch(from, end, this.#ending.signal) };
  }
}
