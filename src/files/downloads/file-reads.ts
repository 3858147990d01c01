/**
 * Reads files for responses. Bytes that the system has in its page cache are read at once, without waiting for a disk.
 * Others are read into a slab by a reader thread; afterwards they are cached for all readers of the file.
 */
import koffi from 'koffi';
import type { Slabs } from '../transfer/slabs.js';
import type { Disk } from '../transfer/upload.js';
import { PAGE_LENGTH } from '../../base/memory/transfer-memory.js';
import type { TaskTable } from '../../base/threads/task.js';
import { TaskPool, type TaskPoolOptions } from '../../base/threads/task-pool.js';

/** Bytes in a slab, until it is given back. */
export interface ReadPiece {
  readonly bytes: Uint8Array;
  giveBack(): void;
}

export class FileReads {
  readonly #slabs: Slabs;
  readonly #disk: Disk;
  readonly #pageCache = new PageCache();

  constructor(slabs: Slabs, disk: Disk) {
    this.#slabs = slabs;
    this.#disk = disk;
  }

  /** The bytes, valid until the next call; undefined when they are not cached, or the file ends there. */
  readNow(fd: number, position: number, length: number): Uint8Array | undefined {
    return this.#pageCache.read(fd, position, length);
  }

  /** Reads in a reader thread; no bytes when the file ends there. */
  async read(fd: number, position: number, length: number): Promise<ReadPiece> {
    const slab = await this.#slabs.next();
    const giveBack = (): void => {
      this.#slabs.giveBack(slab);
    };
    try {
      const read = await this.#disk.run('readSlab', { fd, position, slab, length });
      return { bytes: this.#slabs.view(slab, 0, read), giveBack };
    } catch (error) {
      giveBack();
      throw error;
    }
  }
}

/** The most bytes of one read. */
export const LARGEST_READ = 512 * 1024;
const RWF_NOWAIT = 8;
const CACHESTAT = 451;
const LENGTH_OFFSET = 8;

type Preadv2 = (fd: number, iovec: Uint8Array, count: number, offset: number, flags: number) => number;
type Cachestat = (number: number, fd: number, range: Uint8Array, found: Uint8Array, flags: number) => number;

const libc =
  process.platform === 'linux'
    ? {
        preadv2: koffi.load(null).func('int64_t preadv2(int, const uint8_t *, int, int64_t, int)') as Preadv2,
        cachestat: koffi
          .load(null)
          .func('int64_t syscall(int64_t, int64_t, const uint8_t *, uint8_t *, int64_t)') as Cachestat,
      }
    : undefined;

/**
 * Reads from the page cache, which never wait for a disk. Only Linux has such reads; where the system or the file system
 * does not support them, nothing is read.
 */
export class PageCache {
  readonly #bytes = new Uint8Array(new SharedArrayBuffer(LARGEST_READ));
  readonly #iovec = Buffer.alloc(16);
  readonly #range = Buffer.alloc(16);
  /** Five counts; the first is the number of cached pages. */
  readonly #found = Buffer.alloc(40);

  constructor() {
    this.#iovec.writeBigUInt64LE(koffi.address(this.#bytes), 0);
  }

  /** The bytes, valid until the next call; undefined when not all of them are cached. */
  read(fd: number, position: number, length: number): Uint8Array | undefined {
    const wanted = Math.min(length, LARGEST_READ);
    if (libc === undefined || !this.#isThere(fd, position, wanted)) return undefined;
    this.#iovec.writeUInt32LE(wanted, LENGTH_OFFSET);
    const read = libc.preadv2(fd, this.#iovec, 1, position, RWF_NOWAIT);
    return read > 0 ? this.#bytes.subarray(0, read) : undefined;
  }

  /**
   * Asked first, because a read of pages that are not cached does not wait but starts the system's read-ahead, far ahead
   * and for hundreds of clients at once. A system too old for the question does not do that either.
   */
  #isThere(fd: number, position: number, length: number): boolean {
    this.#range.writeBigUInt64LE(BigInt(position), 0);
    this.#range.writeBigUInt64LE(BigInt(length), LENGTH_OFFSET);
    if (libc?.cachestat(CACHESTAT, fd, this.#range, this.#found, 0) !== 0) return true;
    const pages = Math.ceil((position + length) / PAGE_LENGTH) - Math.floor(position / PAGE_LENGTH);
    return this.#found.readUInt32LE(0) >= pages;
  }
}

/** The file threads, with the way to read files for responses. */
export class FilePool<Table extends TaskTable> extends TaskPool<Table> {
  readonly reads: FileReads;

  constructor(options: TaskPoolOptions, reads: FileReads) {
    super(options);
    this.reads = reads;
  }
}
