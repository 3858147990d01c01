/**
 * The source of a response whose length is not known: a compressed archive. One piece is made ahead, so that neither the
 * client nor a thread waits for the other; the parts of large content are compressed side by side.
 */
import { joinedCrc32 } from '../archives/joined-crc.js';
import type { PackedPart } from '../archives/member-parts.js';
import { afterBody, type MemberBody, type ZipCursor } from '../archives/zip-cursor.js';
import type { ArchiveMaking, InRoom } from './archive-making.js';

const PART_LENGTH = 512 * 1024;
/** Two are being compressed while the third one is sent. */
const PARTS_AHEAD = 3;
const NOTHING = new Uint8Array(0);

type PackedBytes = InRoom<{ readonly bytes: Uint8Array }>;

export class PackedArchive {
  readonly #making: ArchiveMaking;
  readonly #pieces: AsyncGenerator<PackedBytes, undefined>;
  #ahead: Promise<IteratorResult<PackedBytes, undefined>>;
  /** The room of the bytes that the client gets now. */
  #sending: SharedArrayBuffer | undefined;
  #isOver = false;

  private constructor(making: ArchiveMaking) {
    this.#making = making;
    this.#pieces = this.#made(making.first);
    this.#ahead = this.#pieces.next();
  }

  /** Waits for the first piece, so that early errors can still be a proper response. */
  static async begin(making: ArchiveMaking): Promise<PackedArchive> {
    const archive = new PackedArchive(making);
    await archive.#ahead;
    return archive;
  }

  /** The bytes are valid until the next call; the last ones are none. */
  next(): 'over' | Promise<Uint8Array> {
    if (this.#isOver) return 'over';
    this.#making.checkOpen();
    if (this.#sending !== undefined) this.#making.leaveRoom(this.#sending);
    this.#sending = undefined;
    const taken = this.#ahead;
    this.#ahead = this.#pieces.next();
    // The next call returns it; this only silences the unhandled rejection.
    this.#ahead.catch(() => undefined);
    return this.#making.awaited(this.#bytesOf(taken));
  }

  onReady(): void {
    // `next` never asks its caller to wait: it returns a promise.
  }

  close(): void {
    void this.#making.close();
  }

  async #bytesOf(taken: Promise<IteratorResult<PackedBytes, undefined>>): Promise<Uint8Array> {
    const { value } = await taken;
    this.#isOver = value === undefined;
    this.#sending = value?.room;
    return value?.bytes ?? NOTHING;
  }

  async *#made(first: ZipCursor): AsyncGenerator<PackedBytes, undefined> {
    for (let cursor: ZipCursor | undefined = first; cursor !== undefined;) {
      const piece = await this.#making.piece(cursor);
      yield piece;
      const { body, cursor: next } = piece;
      cursor = body === undefined || next === undefined ? next : yield* this.#packed(body, next);
    }
    return undefined;
  }

  /** Returns the cursor behind the body. */
  async *#packed(body: MemberBody, before: ZipCursor): AsyncGenerator<PackedBytes, ZipCursor> {
    const parts: Promise<InRoom<PackedPart>>[] = [];
    let asked = 0;
    const ask = (): void => {
      for (; parts.length < PARTS_AHEAD && asked < body.size; asked += PART_LENGTH) {
        const length = Math.min(PART_LENGTH, body.size - asked);
        const part = this.#making.packedPart({ body, position: asked, length });
        part.catch(() => undefined);
        parts.push(part);
      }
    };
    let sums = { crc32: 0, size: 0, compressedSize: 0 };
    ask();
    for (let next = parts.shift(); next !== undefined; next = parts.shift()) {
      const part = await next;
      ask();
      const { crc32, size, compressedSize } = part;
      sums = {
        crc32: joinedCrc32(sums.crc32, crc32, size),
        size: sums.size + size,
        compressedSize: sums.compressedSize + compressedSize,
      };
      yield part;
    }
    return afterBody(before, sums);
  }
}
