/**
 * Writes one stream of bytes to a file and digests it. If there is already a file of the same length at the target, the
 * stream is compared with it and nothing is written; at the first difference the beginning of that file is copied, piece
 * by piece, and writing begins. Runs in a transfer loop.
 */
import { closeSync, ftruncateSync, readSync } from 'node:fs';
import { refusals } from '../../base/errors/errors.js';
import { writeWhole } from '../../base/disk/published-file.js';
import type { Growth } from '../../base/disk/disk-floor.js';
import { Digester } from './digester.js';
import type { DirectFile } from './direct-file.js';
import type { OnWritten } from '../../base/disk/disk-queue.js';
import { EarlyWriteback } from './early-writeback.js';
import type { DigestName } from './landing.js';
import type { Written } from './transfer-orders.js';

const COPIED_AT_ONCE = 4 * 1024 * 1024;

/** The file at the target that may have the same content. A writer that is given one must digest SHA-256. */
export interface Present {
  readonly fd: number;
  /** Its `contentVersion` before the comparison. */
  readonly version: string;
}

interface ContentWays {
  /** Checks the room on the disk; without it nothing checks. */
  readonly growth?: Growth | undefined;
  readonly present?: Present | undefined;
  readonly direct?: DirectFile | undefined;
}

export class ContentWriter {
  readonly #fd: number;
  readonly #start: number;
  readonly #digester: Digester;
  readonly #writeback: EarlyWriteback;
  #present: Present | undefined;
  #position: number;
  /** The end of the written bytes: less than the position only while the beginning is compared. */
  #written: number;
  #isCompared = false;
  /** Digests the beginning as it is copied. */
  readonly #copied = new Digester(['sha-256']);
  #scratch = Buffer.alloc(0);
  readonly #direct: DirectFile | undefined;
  readonly #growth: Growth | undefined;
  #failure: Error | undefined;

  constructor(
    fd: number,
    position: number,
    digests: readonly DigestName[],
    { present, direct, growth }: ContentWays = {},
  ) {
    this.#fd = fd;
    this.#direct = direct;
    this.#growth = growth;
    this.#start = position;
    this.#position = position;
    this.#written = position;
    this.#digester = new Digester(digests);
    this.#writeback = new EarlyWriteback(fd, position);
    this.#present = present;
    this.#isCompared = present !== undefined;
  }

  /**
   * Takes the bytes, which must stay as they are until `onWritten` is called. Returns false when it has only copied a
   * part of the beginning, and must be called again with the same bytes.
   */
  take(bytes: Uint8Array, onWritten: OnWritten): boolean {
    if (this.#failure !== undefined) throw this.#failure;
    if (this.#isCompared && !this.#isSame(bytes)) this.#isCompared = false;
    if (!this.#isCompared && !this.#copyBeginning()) return false;
    const isUnderWay = !this.#isCompared && this.#write(bytes, onWritten);
    // Digests while the disk writes.
    this.#digester.update(bytes);
    this.#position += bytes.length;
    if (!isUnderWay) onWritten();
    return true;
  }

  /** Ends the stream. */
  finish(): Written {
    this.#direct?.settle();
    if (this.#failure !== undefined) throw this.#failure;
    // The file was made longer ahead of its bytes.
    if (this.#direct !== undefined) ftruncateSync(this.#fd, this.#position);
    return {
      content: { size: this.#position - this.#start, digests: this.#digester.finish() },
      unchanged: this.#isCompared ? this.#present?.version : undefined,
    };
  }

  /** Closes the present file. The written file belongs to the caller. */
  close(): void {
    this.#direct?.settle();
    if (this.#present !== undefined) closeSync(this.#present.fd);
    this.#present = undefined;
  }

  /** Returns true while the bytes are still needed. */
  #write(bytes: Uint8Array, onWritten: OnWritten): boolean {
    const position = this.#position;
    this.#written = position + bytes.length;
    if (this.#direct?.takes(bytes, position) === true) {
      return this.#direct.write(bytes, position, (error) => {
        this.#failure ??= error;
        onWritten(error);
      });
    }
    this.#direct?.becomeOrdinary();
    this.#growth?.reach(position, this.#written);
    writeWhole(this.#fd, bytes, position);
    this.#writeback.reached(this.#written);
    return false;
  }

  #isSame(bytes: Uint8Array): boolean {
    if (this.#present === undefined) return false;
    const there = this.#room(bytes.length);
    let read = 0;
    while (read < bytes.length) {
      const length = readSync(this.#present.fd, there, read, bytes.length - read, this.#position + read);
      if (length === 0) return false;
      read += length;
    }
    return there.equals(bytes);
  }

  /** Returns false when there is more to copy. */
  #copyBeginning(): boolean {
    if (this.#present === undefined || this.#written === this.#position) return true;
    const wanted = Math.min(COPIED_AT_ONCE, this.#position - this.#written);
    const piece = this.#room(wanted);
    const length = readSync(this.#present.fd, piece, 0, wanted, this.#written);
    if (length === 0) throw refusals.uploadOvertaken();
    this.#growth?.reach(this.#written, this.#written + length);
    writeWhole(this.#fd, piece.subarray(0, length), this.#written);
    this.#copied.update(piece.subarray(0, length));
    this.#written += length;
    if (this.#written < this.#position) return false;
    // The file may have changed since it was compared; then the copy is not what the client sent.
    if (this.#copied.soFar('sha-256') !== this.#digester.soFar('sha-256')) throw refusals.uploadOvertaken();
    return true;
  }

  #room(length: number): Buffer {
    if (this.#scratch.length < length) this.#scratch = Buffer.allocUnsafe(length);
    return this.#scratch.subarray(0, length);
  }
}
