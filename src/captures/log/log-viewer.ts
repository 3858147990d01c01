/**
 * One who looks on: a cursor over a log, which is given the header and then every octet from the oldest record that
 * is held. At the tail it reads the memory of the log; while it is behind, the file. Whoever is slow holds back
 * only itself, and is moved on to the oldest record when a ring has left it behind. Without a file it is the one
 * for whom the log is: it drains it.
 */
import type { LogReader } from './log-reader.js';
import type { PieceReader, LogFile } from './log-file.js';
import type { ViewerClock, Waiting } from './viewer-clock.js';

const PIECE_LENGTH = 256 * 1024;
/** Of the log's memory, the oldest part is left to the engine, which will want it next. */
const OLDEST_PART = 4;
/** A new file of a ring is written before it is told of here. */
const RETRY_MS = 5;
const MOST_RETRIES = 400;

export interface LogViewerOptions {
  readonly log: LogReader;
  readonly file: LogFile | undefined;
  readonly header: Uint8Array;
  readonly files: PieceReader;
  readonly clock: ViewerClock;
  /** Nothing is written into the log any more, and the file has everything. */
  readonly isOver: () => boolean;
  readonly onClosed: () => void;
}

export class LogViewer implements Waiting {
  readonly #options: LogViewerOptions;
  #position: number;
  #hasHeader = false;
  #skipped = 0;
  #onReady: (() => void) | undefined;
  #isClosed = false;
  #reading: Promise<unknown> = Promise.resolve();

  constructor(options: LogViewerOptions) {
    this.#options = options;
    const { file, log } = options;
    file?.hold();
    this.#position = file?.start ?? log.drained;
  }

  /** What had left the ring before it came to it. */
  get skippedBytes(): number {
    return this.#skipped;
  }

  /** How far it is behind, in octets. */
  get lag(): number {
    return this.#options.log.head - this.#position;
  }

  /** Called before the first `next`; `callback` is called after each `nothing`, when there is more or it is over. */
  onReady(callback: () => void): void {
    this.#onReady = callback;
  }

  /**
   * What comes next: given to `use`, valid only within the call, or promised, and then the caller's own. A promise
   * must be settled before the next call.
   */
  next(use: (bytes: Uint8Array) => void): 'given' | 'nothing' | 'over' | Promise<Uint8Array> {
    const { log, file, header, isOver, clock } = this.#options;
    if (!this.#hasHeader) {
      this.#hasHeader = true;
      use(header);
      return 'given';
    }
    // Before the head is looked at: what is over grows no more.
    const isAtEnd = isOver();
    if (this.#position < log.head) {
      if (this.#takeFromMemory(use)) return 'given';
      if (file !== undefined && Math.max(this.#position, file.start) < log.drained) {
        const read = this.#readFile(file);
        this.#reading = read.catch(() => undefined);
        return read;
      }
    }
    if (isAtEnd) return 'over';
    clock.wait(this);
    return 'nothing';
  }

  get isReady(): boolean {
    return this.#position < this.#options.log.head || this.#options.isOver();
  }

  wake(): void {
    this.#onReady?.();
  }

  close(): void {
    if (this.#isClosed) return;
    this.#isClosed = true;
    this.#options.clock.forget(this);
    void this.#reading.then(() => this.#options.file?.release());
    this.#options.onClosed();
  }

  #takeFromMemory(use: (bytes: Uint8Array) => void): boolean {
    const { log, file } = this.#options;
    if (file !== undefined && this.#position < log.drained) {
      const { head, oldest } = log;
      if (this.#position < oldest + (head - oldest) / OLDEST_PART) return false;
    }
    const before = this.#position;
    const isTaken = log.read(before, (bytes) => {
      this.#position += bytes.length;
      use(bytes);
    });
    if (isTaken && file === undefined) log.drainTo(this.#position);
    return isTaken;
  }

  async #readFile(file: LogFile): Promise<Uint8Array> {
    const { log, files } = this.#options;
    for (let tries = 0; tries < MOST_RETRIES; tries++) {
      const missed = file.start - this.#position;
      if (missed > 0) {
        this.#skipped += missed;
        this.#position += missed;
      }
      const segment = file.segmentAt(this.#position);
      const length = Math.min(PIECE_LENGTH, (segment.end ?? log.drained) - this.#position);
      const piece = await segment.read(files, this.#position, length);
      if (piece.length > 0) {
        this.#position += piece.length;
        return piece;
      }
      await new Promise((resolve) => setTimeout(resolve, RETRY_MS));
    }
    throw new Error('a capture file was cut short while it was read');
  }
}
