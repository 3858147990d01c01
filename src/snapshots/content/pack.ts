/** A pack: one file with the chunks that a snapshot adds to the store, and its index beside it. Runs in a worker thread. */
import { closeSync, constants, openSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { hash } from 'node:crypto';
import { BulkFile } from '../../base/disk/bulk-file.js';
import { RECORD_LENGTH, type ChunkPlace, type ChunkTable } from './chunk-table.js';
import { indexOf, PACK_PAGE, packOf } from './objects.js';
import { writeWhole } from '../../base/disk/published-file.js';
import { readRegularFile } from '../../base/disk/regular-file.js';
import { DIGEST_LENGTH } from './content-digest.js';

const MODE = 0o600;
const CREATE_INDEX = constants.O_WRONLY | constants.O_CREAT | constants.O_EXCL | constants.O_NOFOLLOW;
/** Enough for the index of a pack of some terabytes. */
const LARGEST_INDEX = 2 ** 31;

export class Pack {
  readonly #object: string;
  readonly #path: string;
  readonly #table: ChunkTable;
  readonly #firstRecord: number;
  readonly #most: number;
  #file: BulkFile | undefined;

  /** Added chunks are entered in the table, which is complete otherwise. The first chunk makes the file. */
  constructor(content: string, storeId: string, table: ChunkTable, most: number) {
    this.#object = packOf(storeId);
    this.#path = join(content, this.#object);
    this.#table = table;
    this.#firstRecord = table.count;
    this.#most = most;
  }

  get length(): number {
    return this.#file?.position ?? 0;
  }

  add(digest: Buffer, chunk: Uint8Array): ChunkPlace {
    const file = (this.#file ??= BulkFile.create(this.#path, MODE, this.#most));
    const beyond = file.position % PACK_PAGE;
    if (beyond > 0) file.skip(PACK_PAGE - beyond);
    const place = { object: this.#object, offset: file.position };
    file.write(chunk);
    this.#table.add(digest, chunk.length, place);
    return place;
  }

  /** Puts the chunks on the disk, and writes the index. */
  finish(): void {
    if (this.#file === undefined) return;
    this.#file.finish(true);
    writePackIndex(indexOf(this.#path), this.#table.recordsFrom(this.#firstRecord));
  }

  discard(): void {
    this.#file?.discard();
    rmSync(this.#path, { force: true });
    rmSync(indexOf(this.#path), { force: true });
  }
}

/** The digest of the records comes first: a damaged index must not lead to other content. */
function writePackIndex(path: string, records: Buffer): void {
  const fd = openSync(path, CREATE_INDEX, MODE);
  try {
    const digest = hash('sha256', records, 'buffer');
    writeWhole(fd, digest, 0);
    writeWhole(fd, records, digest.length);
  } finally {
    closeSync(fd);
  }
}

/** The records, for `ChunkTable`; none if the index is missing or damaged: then these chunks are stored again. */
export function readPackIndex(path: string): Buffer {
  const none = Buffer.alloc(0);
  let bytes: Buffer;
  try {
    bytes = readRegularFile(path, LARGEST_INDEX);
  } catch {
    return none;
  }
  const records = bytes.subarray(DIGEST_LENGTH);
  const isWhole = records.length % RECORD_LENGTH === 0 && bytes.length > DIGEST_LENGTH;
  return isWhole && hash('sha256', records, 'buffer').equals(bytes.subarray(0, DIGEST_LENGTH))
    ? records
    : none;
}
