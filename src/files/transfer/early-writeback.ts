/**
 * Lets the kernel begin to write a file to the disk while more bytes arrive, so that the sync at the end has little
 * left to do. Only Linux has a call for this; elsewhere the sync does it all.
 */
import koffi from 'koffi';

/** In bytes. */
const STRIDE = 8 * 1024 * 1024;
const SYNC_FILE_RANGE_WRITE = 2;

type SyncFileRange = (fd: number, offset: number, length: number, flags: number) => number;

const syncFileRange =
  process.platform === 'linux'
    ? (koffi.load(null).func('int sync_file_range(int, int64_t, int64_t, unsigned int)') as SyncFileRange)
    : undefined;

export class EarlyWriteback {
  readonly #fd: number;
  #begun: number;

  constructor(fd: number, position: number) {
    this.#fd = fd;
    this.#begun = position;
  }

  /** Called when the file has been written up to the position. */
  reached(position: number): void {
    if (position - this.#begun < STRIDE) return;
    // A file system without support returns an error, and nothing is lost.
    syncFileRange?.(this.#fd, this.#begun, position - this.#begun, SYNC_FILE_RANGE_WRITE);
    this.#begun = position;
  }
}
