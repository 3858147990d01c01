/**
 * A read cursor over a capture log. It gets the file header, then every byte from the oldest kept record on: from the
 * memory of the log at the tail, from the file while it is behind. A slow viewer delays no one else; when a ring has
 * deleted what it has not read, it goes on at the oldest record. A log without a file has one viewer, which drains it.
 */
import type { LogReader } from './log-reader.js';
import type { PieceReader, LogFile } from './log-file.js';
import type { ViewerClock, Waiting } from './viewer-clock.js';

const PIECE_LENGTH = 256 * 1024;
/** The oldest quarter of the memory is not read, as the engine will reuse it next. */
const OLDEST_PART = 4;
/** The first bytes of a new file of a ring may be drained before its report arrives; the read is then repeated. */
const RETRY_MS = 5;
const MOST_RETRIES = 400;

interface LogViewerOptions {
  readonly log: LogReader;
  readonly file: LogFile | undefined;
  readonly header: Uint8Array;
  readonly files: PieceReader;
  readonly clock: ViewerClock;
  /** Whether the capture has ended and the file has everything. */
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

  /** How many bytes the ring deleted before it read them. */
  get skippedBytes(): number {
    return this.#skipped;
  }

  /** How many bytes it is behind. */
  get lag(): number {
    return this.#options.log.head - this.#position;
  }

  /** Called before the first `next`. After each `nothing`, `callback` is called when there is more, or the end. */
  onReady(callback: () => void): void {
    this.#onReady = callback;
  }

  /**
   * The next bytes. They are given to `use`, and are valid only within the call, or they are promised, and then belong
   * to the caller. A promise must settle before the next call.
   */
  next(use: (bytes: Uint8Array) => void): 'given' | 'nothing' | 'over' | Promise<Uint8Array> {
    const { log, file, header, isOver, clock } = this.#options;
    if (!this.#hasHeader) {
      this.#hasHeader = true;
      use(header);
      return 'given';
    }
    // Read before the head is: a log that is over does not grow any more.
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
