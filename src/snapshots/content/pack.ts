/** The chunks that a snapshot adds to the store, in one file. Runs in a worker thread. */
import { rmSync } from 'node:fs';
import { join } from 'node:path';
import { BulkFile } from '../../base/disk/bulk-file.js';
import type { ChunkPlace, ChunkTable } from './chunk-table.js';
import { indexOf, packOf } from './object-name.js';
import { writePackIndex } from './pack-index.js';

/** Chunks begin at multiples of this, so that each can be given back, and be shared, by itself. */
export const PACK_PAGE = 4096;
const MODE = 0o600;

export class Pack {
  readonly #object: string;
  readonly #path: string;
  readonly #table: ChunkTable;
  readonly #firstRecord: number;
  readonly #most: number;
  #file: BulkFile | undefined;

  /** What is added is told to the table, which is full otherwise. There is no file before there is a chunk. */
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

  /** The disk has the chunks afterwards. */
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
