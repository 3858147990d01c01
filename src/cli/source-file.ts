/** A local file that is read once to digest it and once to send it, and must not change in between. */
import { createHash } from 'node:crypto';
import { constants } from 'node:fs';
import { open, type FileHandle } from 'node:fs/promises';
import { CommandError } from './command-error.js';

export type HashName = 'md5' | 'sha256';
/** In lower-case hexadecimal. */
export type Hashes = Readonly<Partial<Record<HashName, string>>>;

const PIECE_LENGTH = 256 * 1024;

export class SourceFile {
  readonly path: string;
  readonly size: number;
  readonly #handle: FileHandle;
  readonly #modifiedNs: bigint;

  private constructor(path: string, handle: FileHandle, size: number, modifiedNs: bigint) {
    this.path = path;
    this.size = size;
    this.#handle = handle;
    this.#modifiedNs = modifiedNs;
  }

  /** Throws CommandError. */
  static async open(path: string): Promise<SourceFile> {
    // Without waiting, in case it is a FIFO.
    const handle = await open(path, constants.O_RDONLY | constants.O_NONBLOCK).catch((error: unknown) => {
      throw unreadable(path, error);
    });
    const stat = await handle.stat({ bigint: true });
    if (stat.isFile()) return new SourceFile(path, handle, Number(stat.size), stat.mtimeNs);
    await handle.close();
    throw new CommandError(`${path} is no file`);
  }

  async digests(
    names: readonly HashName[],
    onRead: (bytes: number) => void,
    signal: AbortSignal,
  ): Promise<Hashes> {
    const hashes = names.map((name) => ({ name, hash: createHash(name) }));
    for await (const bytes of this.bytes(0, onRead)) {
      signal.throwIfAborted();
      for (const { hash } of hashes) hash.update(bytes);
    }
    return Object.fromEntries(hashes.map(({ name, hash }) => [name, hash.digest('hex')]));
  }

  /** The bytes from the position on. Throws CommandError, even when the file has become shorter. */
  async *bytes(position: number, onRead: (bytes: number) => void): AsyncGenerator<Uint8Array> {
    let at = position;
    while (at < this.size) {
      const length = Math.min(PIECE_LENGTH, this.size - at);
      // A new buffer each time, because the one before may still be on its way.
      const { bytesRead, buffer } = await this.#handle
        .read(Buffer.allocUnsafe(length), 0, length, at)
        .catch((error: unknown) => {
          throw unreadable(this.path, error);
        });
      if (bytesRead === 0) throw this.changed();
      at += bytesRead;
      yield buffer.subarray(0, bytesRead);
      onRead(bytesRead);
    }
  }

  /** Throws CommandError when the file has changed since it was opened. */
  async checkSame(): Promise<void> {
    const { size, mtimeNs } = await this.#handle.stat({ bigint: true });
    if (Number(size) !== this.size || mtimeNs !== this.#modifiedNs) throw this.changed();
  }

  changed(): CommandError {
    return new CommandError(`${this.path} was changed while it was read: push it once more`);
  }

  close(): Promise<void> {
    return this.#handle.close();
  }
}

function unreadable(path: string, error: unknown): CommandError {
  const reason = error instanceof Error && 'code' in error ? String(error.code) : String(error);
  return new CommandError(`cannot read ${path} (${reason})`, { cause: error });
}
