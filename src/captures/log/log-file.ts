/**
 * The file of a log, or its ring of files, as the HTTP thread sees them. Owns their descriptors, which are for both
 * ways: a file that has lost its name can still be read, and written by the next loop when one has died. They are
 * closed when nobody holds the file any more, the one of a file that left the ring as soon as nobody reads it.
 */
import type { LogReader } from './log-reader.js';
import type { OpenSegment } from '../writing/writer-orders.js';
import type { TaskRunner } from '../../base/threads/task-pool.js';
import type { FileTasks } from '../../base/disk/file-tasks.js';

export interface LogFileOptions {
  readonly log: LogReader;
  readonly segment: OpenSegment;
  readonly headerLength: number;
  readonly files: number;
  /** Has everything written that is in the log; the file is not written any more afterwards. */
  readonly finish: () => Promise<void>;
  readonly sync: (fd: number) => Promise<void>;
  readonly close: (fd: number) => void;
  /** It is not written any further: called once, with what to do about it. */
  readonly onTrouble: (reason: string) => void;
}

export class LogFile {
  readonly #options: LogFileOptions;
  readonly #segments: FileSegment[] = [];
  #current: FileSegment;
  #rotatedAway = { files: 0, bytes: 0 };
  #failure: string | undefined;
  #ending: Promise<void> | undefined;
  /** Its owner is the first. */
  #holders = 1;

  constructor(options: LogFileOptions) {
    this.#options = options;
    this.#current = this.#newSegment(options.segment);
  }

  /** Oldest first; only the last one grows. */
  get segments(): readonly FileSegment[] {
    return this.#segments;
  }

  get current(): FileSegment {
    return this.#current;
  }

  /** The position of the oldest record that is in a file. */
  get start(): number {
    return (this.#segments[0] ?? this.#current).start;
  }

  /** Of all its files together. */
  get bytes(): number {
    const { log, headerLength } = this.#options;
    const records = log.drained - this.start;
    return records + this.#segments.length * headerLength;
  }

  /** Where the last record ends that is in the file which is written. */
  get wholeBytes(): number {
    const { log, headerLength } = this.#options;
    return headerLength + log.drained - this.#current.start;
  }

  /** What has left the ring. */
  get rotatedAway(): { readonly files: number; readonly bytes: number } {
    return this.#rotatedAway;
  }

  /** Why it is not written any further. */
  get failure(): string | undefined {
    return this.#failure;
  }

  /**
   * The file that has the octet at the position. While a rotation is on its way here, that may be a file that does
   * not have it yet.
   */
  segmentAt(position: number): FileSegment {
    return this.#segments.find(({ end }) => end === undefined || position < end) ?? this.#current;
  }

  /** When it resolves, everything in the log is in the file and on the disk, unless it had failed before. */
  end(): Promise<void> {
    this.#ending ??= this.#finish();
    return this.#ending;
  }

  /** Until it is released as often, its descriptors stay open. */
  hold(): void {
    if (this.#holders === 0) throw new Error('the files of a capture were closed already');
    this.#holders++;
  }

  release(): void {
    if (--this.#holders > 0) return;
    for (const segment of this.#segments) segment.giveUp();
  }

  /** Said by its writer: it goes on in a new file. */
  rotated(segment: OpenSegment): void {
    this.#current.end = segment.start;
    this.#current = this.#newSegment(segment);
    if (this.#segments.length <= this.#options.files) return;
    const gone = this.#segments.shift();
    if (gone === undefined) return;
    gone.giveUp();
    const { files, bytes } = this.#rotatedAway;
    this.#rotatedAway = { files: files + 1, bytes: bytes + this.start - gone.start };
  }

  /** Said by its writer: it is not written any further. */
  failed(reason: string): void {
    if (this.#failure !== undefined) return;
    this.#failure = reason;
    this.#options.onTrouble(reason);
  }

  #newSegment({ fd, start }: OpenSegment): FileSegment {
    const segment = new FileSegment(fd, start, this.#options.headerLength, this.#options.close);
    this.#segments.push(segment);
    return segment;
  }

  async #finish(): Promise<void> {
    const { finish, sync } = this.#options;
    await finish();
    await sync(this.#current.fd);
  }
}

/** One file of a log: which stretch of the log is in it, and its descriptor while anybody reads it. */

export type PieceReader = TaskRunner<FileTasks>;

export class FileSegment {
  readonly fd: number;
  /** The position of its first record. */
  readonly start: number;
  /** The position after its last record; undefined while it grows. */
  end: number | undefined;
  readonly #headerLength: number;
  readonly #close: (fd: number) => void;
  #reads = 0;
  #isGivenUp = false;

  constructor(fd: number, start: number, headerLength: number, close: (fd: number) => void) {
    this.fd = fd;
    this.start = start;
    this.#headerLength = headerLength;
    this.#close = close;
  }

  /** What the file has from a position of the log on, at most `length`. */
  async read(files: PieceReader, position: number, length: number): Promise<Uint8Array> {
    if (this.#isGivenUp) throw new Error('a file of a capture was read after it was closed');
    this.#reads++;
    try {
      return await files.run('readPiece', {
        fd: this.fd,
        position: this.#headerLength + position - this.start,
        length,
      });
    } finally {
      this.#reads--;
      this.#closeWhenDone();
    }
  }

  /** Nobody begins to read it any more. */
  giveUp(): void {
    if (this.#isGivenUp) return;
    this.#isGivenUp = true;
    this.#closeWhenDone();
  }

  /** A descriptor must not be closed under a read: its number may be another file's by then. */
  #closeWhenDone(): void {
    if (this.#isGivenUp && this.#reads === 0) this.#close(this.fd);
  }
}
