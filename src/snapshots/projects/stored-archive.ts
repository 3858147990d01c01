/**
 * The parts of a response of known length: an archive of stored members, from any position on. Large files go out as they
 * are, without a copy through job threads; their checksums are found out beside that, since they stand behind them.
 */
import type { NamedFile } from '../../base/disk/containment.js';
import { afterBody, type MemberBody, type ZipCursor } from '../archives/zip-cursor.js';
import type { ArchiveMaking, InRoom } from './archive-making.js';

interface Stretch {
  readonly file: NamedFile;
  readonly start: number;
  readonly end: number;
}

type Segment = InRoom<{ readonly bytes: Uint8Array }> | Stretch;

const SUMMED_LENGTH = 8 * 1024 * 1024;
/** Sums are so far ahead of the client, and the file is in the memory of the system when the client comes there. */
const SUMMED_AHEAD = 64 * 1024 * 1024;

export class StoredArchive {
  readonly #making: ArchiveMaking;
  /** Bytes before it are summed, and not sent. */
  readonly #start: number;
  readonly #segments: AsyncGenerator<Segment, undefined>;
  #ahead: Promise<IteratorResult<Segment, undefined>>;
  /** The position in the archive up to which everything has been sent. */
  #sent: number;
  readonly #waiting = new Set<() => void>();
  /** The room of the bytes that the client gets now. */
  #sending: SharedArrayBuffer | undefined;

  private constructor(making: ArchiveMaking, start: number) {
    this.#making = making;
    this.#start = start;
    this.#sent = start;
    this.#segments = this.#made(making.first);
    this.#ahead = this.#segments.next();
  }

  /** Waits for the first segment, so that early errors can still be a proper response. */
  static async begin(making: ArchiveMaking, start: number): Promise<StoredArchive> {
    const archive = new StoredArchive(making, start);
    await archive.#ahead;
    return archive;
  }

  /** Bytes, which are valid until the next call, or a stretch of a file; undefined at the end. */
  async next(): Promise<Uint8Array | Stretch | undefined> {
    this.#making.checkOpen();
    if (this.#sending !== undefined) this.#making.leaveRoom(this.#sending);
    this.#sending = undefined;
    const taken = this.#ahead;
    this.#ahead = this.#segments.next();
    // The next call returns it; this only silences the unhandled rejection.
    this.#ahead.catch(() => undefined);
    const { value } = await this.#making.awaited(taken);
    if (value === undefined || 'file' in value) return value;
    this.#sending = value.room;
    return value.bytes;
  }

  /** Everything before this position, counted from the first byte that is sent, has been sent. */
  sent(position: number): void {
    if (this.#start + position === this.#sent) return;
    this.#sent = this.#start + position;
    this.#making.moved();
    this.#wake();
  }

  close(): void {
    void this.#making.close();
    this.#wake();
  }

  async *#made(first: ZipCursor): AsyncGenerator<Segment, undefined> {
    for (let cursor: ZipCursor | undefined = first; cursor !== undefined;) {
      const { bytes, body, cursor: next, warnings, room } = await this.#making.piece(cursor);
      if (warnings.length > 0) throw new Error('a file of the archive is gone, and the length is promised');
      const skipped = Math.max(this.#start - cursor.position, 0);
      if (skipped < bytes.length) yield { bytes: bytes.subarray(skipped), room };
      else this.#making.leaveRoom(room);
      cursor = body === undefined || next === undefined ? next : yield* this.#stored(body, next);
    }
    return undefined;
  }

  /** Returns the cursor behind the body, when all of it has been sent. */
  async *#stored(body: MemberBody, before: ZipCursor): AsyncGenerator<Segment, ZipCursor> {
    const { position } = before;
    const { size, roots } = body;
    const root = body.file && roots[body.file.root];
    if (body.file === undefined || root === undefined) throw new RangeError('the content is in no file');
    const summing = this.#sum(body, position);
    summing.catch(() => undefined);
    const start = Math.max(this.#start - position, 0);
    if (start < size) {
      yield { file: { root, path: body.file.path }, start, end: size };
      await this.#reached(position + size);
    }
    return afterBody(before, { crc32: await summing, size, compressedSize: size });
  }

  async #sum(body: MemberBody, start: number): Promise<number> {
    let sum = 0;
    for (let position = 0; position < body.size; position += SUMMED_LENGTH) {
      await this.#reached(start + position - SUMMED_AHEAD);
      const length = Math.min(SUMMED_LENGTH, body.size - position);
      sum = await this.#making.run('sumPart', { body, position, length, before: sum });
    }
    return sum;
  }

  async #reached(position: number): Promise<void> {
    while (this.#sent < position) {
      this.#making.checkOpen();
      await new Promise<void>((resolve) => this.#waiting.add(resolve));
    }
  }

  #wake(): void {
    for (const resolve of this.#waiting) resolve();
    this.#waiting.clear();
  }
}
