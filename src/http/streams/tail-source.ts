/** What a live stream is pulled from: bytes that come when they come, and one day no more. */

/** No more than so many bytes are written at once. */
export const LARGEST_PIECE = 64 * 1024;

export interface TailSource {
  /**
   * Gives the next bytes in one of two ways: calls `use` within the call with at most LARGEST_PIECE bytes, which
   * are valid only during that, and answers `given`; or answers a promise of bytes that are the caller's to keep.
   * `nothing` is for the moment, `over` for good. A promise that rejects breaks the stream off.
   */
  next(use: (bytes: Uint8Array) => void): 'given' | 'nothing' | 'over' | Promise<Uint8Array>;
  /** Called once, before anything else; `callback` is to be called after each `nothing`, when there is more. */
  onReady(callback: () => void): void;
  /** Called once, after which nothing else is. A promise may still be under way. */
  close(): void;
}
