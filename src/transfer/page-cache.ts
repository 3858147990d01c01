/**
 * Reads of what the system has of a file in memory, which never wait for a disk: only Linux has them. A file system
 * that does not know them says so, and nothing is read at once.
 */
import koffi from 'koffi';

/** At most so much is read at once. */
export const LARGEST_READ = 512 * 1024;
const RWF_NOWAIT = 8;
const IOVEC_LENGTH = 16;
const LENGTH_OFFSET = 8;

type Preadv2 = (fd: number, iovec: Uint8Array, count: number, offset: number, flags: number) => number;

const preadv2 =
  process.platform === 'linux'
    ? (koffi.load(null).func('int64_t preadv2(int, const uint8_t *, int, int64_t, int)') as Preadv2)
    : undefined;

export class PageCache {
  readonly #bytes = new Uint8Array(new SharedArrayBuffer(LARGEST_READ));
  readonly #iovec = Buffer.alloc(IOVEC_LENGTH);

  constructor() {
    this.#iovec.writeBigUInt64LE(koffi.address(this.#bytes), 0);
  }

  /** Valid until the next call; undefined when nothing is in memory there. */
  read(fd: number, position: number, length: number): Uint8Array | undefined {
    if (preadv2 === undefined) return undefined;
    this.#iovec.writeUInt32LE(Math.min(length, LARGEST_READ), LENGTH_OFFSET);
    const read = preadv2(fd, this.#iovec, 1, position, RWF_NOWAIT);
    return read > 0 ? this.#bytes.subarray(0, read) : undefined;
  }
}
