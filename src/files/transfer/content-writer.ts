/**
 * One stream of bytes on its way into a file, in a loop: written where it belongs, and digested beside. While what
 * comes is the same as what a file of the same length has at the same place, nothing is written; at the first
 * difference that file's beginning is copied, piece by piece. Runs in a transfer loop.
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

/** The file that may have this very content already. Its maker has it digested by SHA-256. */
export interface Present {
  readonly fd: number;
  /** As `contentVersion` has it, of before anything was compared. */
  readonly version: string;
}

export interface ContentWays {
  /** Without one, nobody asks whether the disk has room. */
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
  /** Up to where the file has its bytes: less than the position only while the beginning is still compared. */
  #written: number;
  #isCompared = false;
  /** Of the beginning, as it is copied. */
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
   * Takes the bytes, which are needed until `onWritten` is called; false when it has only done some of what comes
   * before, and is to be called again.
   */
  take(bytes: Uint8Array, onWritten: OnWritten): boolean {
    if (this.#failure !== undefined) throw this.#failure;
    if (this.#isCompared && !this.#isSame(bytes)) this.#isCompared = false;
    if (!this.#isCompared && !this.#copyBeginning()) return false;
    const isUnderWay = !this.#isCompared && this.#write(bytes, onWritten);
    // While the disk writes.
    this.#digester.update(bytes);
    this.#position += bytes.length;
    if (!isUnderWay) onWritten();
    return true;
  }

  /** Nothing more comes. */
  finish(): Written {
    this.#direct?.settle();
    if (this.#failure !== undefined) throw this.#failure;
    // It was made longer ahead of its bytes.
    if (this.#direct !== undefined) ftruncateSync(this.#fd, this.#position);
    return {
      content: { size: this.#position - this.#start, digests: this.#digester.finish() },
      unchanged: this.#isCompared ? this.#present?.version : undefined,
    };
  }

  /** The file that is written stays open: it is its maker's. */
  close(): void {
    this.#direct?.settle();
    if (this.#present !== undefined) closeSync(this.#present.fd);
    this.#present = undefined;
  }

  /** Returns whether the bytes are still needed. */
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

  /** False when there is more to copy. */
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
    // Somebody may have written into the file since it was compared: what it has is not what came then.
    if (this.#copied.soFar('sha-256') !== this.#digester.soFar('sha-256')) throw refusals.uploadOvertaken();
    return true;
  }

  #room(length: number): Buffer {
    if (this.#scratch.length < length) this.#scratch = Buffer.allocUnsafe(length);
    return this.#scratch.subarray(0, length);
  }
}
