/**
 * An unfinished download: a hidden file beside its target, named after the target and the version of the image, so that
 * the next try finds it. Two processes that write it at the same time write the same bytes to the same places. It is
 * hashed as it grows.
 */
import { createHash, randomUUID, type Hash } from 'node:crypto';
import { constants, ftruncateSync, readdirSync, renameSync, rmSync } from 'node:fs';
import { open, type FileHandle } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';
import { syncFolder, writeWhole } from '../base/disk/published-file.js';
import { CommandError } from './command-error.js';
import { SourceFile, type HashName, type Hashes } from './source-file.js';

const FLAGS = constants.O_RDWR | constants.O_CREAT | constants.O_NOFOLLOW | constants.O_NONBLOCK;
const KEY_DIGITS = 16;

interface PartOptions {
  /** The path of the complete file. */
  readonly target: string;
  /** The version of the image. Without one the part cannot be continued, and is deleted at the end of the process. */
  readonly tag: string | undefined;
  readonly digests: readonly HashName[];
}

export class PartFile {
  readonly tag: string | undefined;
  readonly #path: string;
  readonly #options: PartOptions;
  readonly #handle: FileHandle;
  #hashes: ReadonlyMap<HashName, Hash>;
  #size = 0;

  private constructor(path: string, options: PartOptions, handle: FileHandle) {
    this.tag = options.tag;
    this.#path = path;
    this.#options = options;
    this.#handle = handle;
    this.#hashes = hashesOf(options);
  }

  /** Opens or creates the part of this version, and removes parts of other versions. Throws CommandError. */
  static async open(
    options: PartOptions,
    onRead: (bytes: number) => void,
    signal: AbortSignal,
  ): Promise<PartFile> {
    const path = partPath(options);
    try {
      removeOthers(path, options.target);
      const part = new PartFile(path, options, await open(path, FLAGS, 0o666));
      await part.#readBack(onRead, signal).catch(async (error: unknown) => {
        await part.close();
        throw error;
      });
      return part;
    } catch (error) {
      throw unwritable(path, error);
    }
  }

  get size(): number {
    return this.#size;
  }

  /** Throws CommandError. */
  append(bytes: Uint8Array): void {
    try {
      writeWhole(this.#handle.fd, bytes, this.#size);
    } catch (error) {
      throw unwritable(this.#path, error);
    }
    this.#size += bytes.length;
    for (const hash of this.#hashes.values()) hash.update(bytes);
  }

  /** Empties the part. */
  reset(): void {
    ftruncateSync(this.#handle.fd);
    this.#hashes = hashesOf(this.#options);
    this.#size = 0;
  }

  digests(): Hashes {
    return Object.fromEntries([...this.#hashes].map(([name, hash]) => [name, hash.copy().digest('hex')]));
  }

  /** Syncs the part and renames it to the target. Throws CommandError. */
  async publish(): Promise<void> {
    try {
      await this.#handle.sync();
      renameSync(this.#path, this.#options.target);
      syncFolder(dirname(this.#options.target));
    } catch (error) {
      throw unwritable(this.#options.target, error);
    }
  }

  discard(): void {
    rmSync(this.#path, { force: true });
  }

  /** Closes the part, and deletes one that the next try cannot go on with. */
  async close(): Promise<void> {
    await this.#handle.close();
    if (this.tag === undefined || this.#size === 0) this.discard();
  }

  async #readBack(onRead: (bytes: number) => void, signal: AbortSignal): Promise<void> {
    const file = await SourceFile.open(this.#path);
    try {
      for await (const bytes of file.bytes(0, onRead)) {
        signal.throwIfAborted();
        for (const hash of this.#hashes.values()) hash.update(bytes);
      }
      this.#size = file.size;
    } finally {
      await file.close();
    }
  }
}

function hashesOf({ digests }: PartOptions): ReadonlyMap<HashName, Hash> {
  return new Map(digests.map((name) => [name, createHash(name)]));
}

function partPath({ target, tag }: PartOptions): string {
  const key = createHash('sha256')
    .update(tag ?? randomUUID())
    .digest('hex')
    .slice(0, KEY_DIGITS);
  return join(dirname(target), `.${basename(target)}.${key}.part`);
}

function removeOthers(path: string, target: string): void {
  const start = `.${basename(target)}.`;
  const isPart = (name: string): boolean =>
    name.startsWith(start) && /^[0-9a-f]{16}\.part$/.test(name.slice(start.length));
  for (const name of readdirSync(dirname(target)).filter(isPart)) {
    if (name !== basename(path)) rmSync(join(dirname(target), name), { force: true });
  }
}

function unwritable(path: string, error: unknown): unknown {
  if (!(error instanceof Error) || !('code' in error) || error instanceof CommandError) return error;
  return new CommandError(`cannot write ${path} (${String(error.code)})`, { cause: error });
}
