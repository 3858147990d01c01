/**
 * Reading files for responses. What the system has in memory is read at once, without waiting for any disk; the rest
 * is read into a slab by a reader thread, and is in memory then for all readers of the file.
 */
import { PageCache } from './page-cache.js';
import type { Slabs } from '../transfer/slabs.js';
import type { Disk } from '../transfer/upload.js';

/** Bytes that lie in a slab, until they are given back. */
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

  /** Valid until the next call. Undefined when a disk would have to be waited for, or the file ends there. */
  readNow(fd: number, position: number, length: number): Uint8Array | undefined {
    return this.#pageCache.read(fd, position, length);
  }

  /** No bytes when the file ends there. */
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
