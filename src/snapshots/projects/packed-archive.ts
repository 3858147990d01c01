/**
 * The source of a response whose length is not known: a compressed archive. One piece is made ahead, so that neither the
 * client nor a thread waits for the other; the parts of large content are compressed side by side.
 */
import { joinedCrc32 } from '../archives/joined-crc.js';
import type { PackedPart } from '../archives/member-parts.js';
import { afterBody, type MemberBody, type ZipCursor } from '../archives/zip-cursor.js';
import type { ArchiveMaking } from './archive-making.js';

const PART_LENGTH = 512 * 1024;
/** Two are being compressed while the third one is sent. */
const PARTS_AHEAD = 3;
const NOTHING = new Uint8Array(0);

export class PackedArchive {
  readonly #making: ArchiveMaking;
  readonly #pieces: AsyncGenerator<Uint8Array, undefined>;
  #ahead: Promise<IteratorResult<Uint8Array, undefined>>;
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

  /** The last piece is empty. */
  next(): 'over' | Promise<Uint8Array> {
    if (this.#isOver) return 'over';
    this.#making.checkOpen();
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

  async #bytesOf(taken: Promise<IteratorResult<Uint8Array, undefined>>): Promise<Uint8Array> {
    const { value } = await taken;
    this.#isOver = value === undefined;
    return value ?? NOTHING;
  }

  async *#made(first: ZipCursor): AsyncGenerator<Uint8Array, undefined> {
    for (let cursor: ZipCursor | undefined = first; cursor !== undefined;) {
      const { bytes, body, cursor: next } = await this.#making.piece(cursor);
      yield bytes;
      cursor = body === undefined || next === undefined ? next : yield* this.#packed(body, next);
    }
    return undefined;
  }

  /** Returns the cursor behind the body. */
  async *#packed(body: MemberBody, before: ZipCursor): AsyncGenerator<Uint8Array, ZipCursor> {
    const parts: Promise<PackedPart>[] = [];
    let asked = 0;
    const ask = (): void => {
      for (; parts.length < PARTS_AHEAD && asked < body.size; asked += PART_LENGTH) {
        const length = Math.min(PART_LENGTH, body.size - asked);
        const part = this.#making.run('packPart', { body, position: asked, length });
        part.catch(() => undefined);
        parts.push(part);
      }
    };
    let sums = { crc32: 0, size: 0, compressedSize: 0 };
    ask();
    for (let next = parts.shift(); next !== undefined; next = parts.shift()) {
      const { bytes, crc32, size, compressedSize } = await next;
      ask();
      sums = {
        crc32: joinedCrc32(sums.crc32, crc32, size),
        size: sums.size + size,
        compressedSize: sums.compressedSize + compressedSize,
      };
      yield bytes;
    }
    return afterBody(before, sums);
  }
}
