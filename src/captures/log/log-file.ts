/**
 * The file of a log, or its ring of files, on the HTTP thread, which owns the descriptors. They are open for reading
 * and writing: a file that has lost its name can still be read, and the next loop goes on writing when one has died.
 * They are closed when the file is no longer held; that of a file which left the ring as soon as no read uses it.
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
  /** Has the rest of the log written; nothing is written to the file afterwards. */
  readonly finish: () => Promise<void>;
  readonly sync: (fd: number) => Promise<void>;
  readonly close: (fd: number) => void;
  /** Called once, with the reason, when the file is not written any further. */
  readonly onTrouble: (reason: string) => void;
}

export class LogFile {
  readonly #options: LogFileOptions;
  readonly #segments: FileSegment[] = [];
  #current: FileSegment;
  #rotatedAway = { files: 0, bytes: 0 };
  #failure: string | undefined;
  #ending: Promise<void> | undefined;
  /** The owner is the first holder. */
  #holders = 1;

  constructor(options: LogFileOptions) {
    this.#options = options;
    this.#current = this.#newSegment(options.segment);
  }

  /** The oldest comes first; only the last one grows. */
  get segments(): readonly FileSegment[] {
    return this.#segments;
  }

  get current(): FileSegment {
    return this.#current;
  }

  /** The position of the oldest record in the files. */
  get start(): number {
    return (this.#segments[0] ?? this.#current).start;
  }

  /** The length of all files together. */
  get bytes(): number {
    const { log, headerLength } = this.#options;
    const records = log.drained - this.start;
    return records + this.#segments.length * headerLength;
  }

  /** The end of the last whole record in the current file. */
  get wholeBytes(): number {
    const { log, headerLength } = this.#options;
    return headerLength + log.drained - this.#current.start;
  }

  /** The files that have left the ring. */
  get rotatedAway(): { readonly files: number; readonly bytes: number } {
    return this.#rotatedAway;
  }

  /** Why the file is not written any further. */
  get failure(): string | undefined {
    return this.#failure;
  }

  /**
   * The file with the byte at the position. Until the report of a rotation arrives, it may be a file that does not have
   * the byte yet.
   */
  segmentAt(position: number): FileSegment {
    return this.#segments.find(({ end }) => end === undefined || position < end) ?? this.#current;
  }

  /** Resolves when everything in the log is in the file and synced, unless the file had failed before. */
  end(): Promise<void> {
    this.#ending ??= this.#finish();
    return this.#ending;
  }

  /** Keeps the descriptors open until a matching `release`. */
  hold(): void {
    if (this.#holders === 0) throw new Error('the files of a capture were closed already');
    this.#holders++;
  }

  release(): void {
    if (--this.#holders > 0) return;
    for (const segment of this.#segments) segment.giveUp();
  }

  /** Called when the writer goes on in a new file. */
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

  /** Called when the writer has given up the log. */
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

export type PieceReader = TaskRunner<FileTasks>;

/** One file of a log: the stretch of the log that it holds, and its descriptor. */
class FileSegment {
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

  /** The bytes of the file from a position of the log on, at most `length`. */
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

  /** No read may begin any more. */
  giveUp(): void {
    if (this.#isGivenUp) return;
    this.#isGivenUp = true;
    this.#closeWhenDone();
  }

  /** A descriptor must not be closed during a read, because its number may then be given to another file. */
  #closeWhenDone(): void {
    if (this.#isGivenUp && this.#reads === 0) this.#close(this.fd);
  }
}
