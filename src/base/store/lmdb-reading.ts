/**
 * Reads the store of earlier versions, a file `data.mdb` that lmdb-js 3.5 wrote: a B-tree of pages, without checksums.
 * Every page is read once at most, so a damaged file ends in an error and never in a loop.
 */
import { closeSync, fstatSync, openSync, readSync } from 'node:fs';
import { unpack } from 'msgpackr';
import type { Key, StoredRecord } from './store.js';

const MAGIC = 0xbeefc0de;
const VERSION = 2;
const PAGE_HEAD_LENGTH = 24;
const NODE_HEAD_LENGTH = 8;
const LEAF = 2;
const BRANCH = 1;
const OVERFLOW = 4;
const IS_BIG = 1;
const NO_PAGE = 2n ** 64n - 1n;
const META_LENGTH = 144;
const PAGE_SIZES = [4096, 8192, 16384, 32768, 65536];
const ESCAPE = 4;
const LOW_START = 27;

interface Meta {
  readonly pageSize: number;
  readonly root: bigint;
  readonly records: bigint;
  readonly transaction: bigint;
}

/**
 * All records, also the one with the format. The error for a damaged file has no `syscall`, unlike one of the system.
 */
export function readLmdb(path: string): StoredRecord[] {
  const fd = openSync(path, 'r');
  try {
    const metas = metasOf(fd);
    if (metas.length === 0) throw new Error('it has no whole meta page');
    let damage: unknown;
    for (const meta of metas) {
      try {
        return new LmdbReader(fd, meta).read();
      } catch (error) {
        if (error instanceof Error && 'syscall' in error) throw error;
        damage ??= error;
      }
    }
    throw damage;
  } finally {
    closeSync(fd);
  }
}

/** The whole meta pages, the newest first. */
function metasOf(fd: number): Meta[] {
  const first = metaAt(fd, 0);
  const sizes = first === undefined ? PAGE_SIZES : [first.pageSize];
  const second = sizes.map((size) => metaAt(fd, size)).find((meta) => meta !== undefined);
  return [first, second]
    .filter((meta) => meta !== undefined)
    .sort((a, b) => Number(b.transaction - a.transaction));
}

function metaAt(fd: number, position: number): Meta | undefined {
  const bytes = Buffer.alloc(META_LENGTH);
  if (readSync(fd, bytes, 0, META_LENGTH, position + PAGE_HEAD_LENGTH) < META_LENGTH) return undefined;
  const pageSize = bytes.readUInt32LE(24);
  const isMeta = bytes.readUInt32LE(0) === MAGIC && bytes.readUInt32LE(4) === VERSION;
  if (!isMeta || !PAGE_SIZES.includes(pageSize)) return undefined;
  return {
    pageSize,
    records: bytes.readBigUInt64LE(104),
    root: bytes.readBigUInt64LE(112),
    transaction: bytes.readBigUInt64LE(128),
  };
}

class LmdbReader {
  readonly #fd: number;
  readonly #meta: Meta;
  readonly #pages: number;
  readonly #seen = new Set<number>();
  readonly #records: StoredRecord[] = [];

  constructor(fd: number, meta: Meta) {
    this.#fd = fd;
    this.#meta = meta;
    this.#pages = Math.floor(fstatSync(fd).size / meta.pageSize);
  }

  read(): StoredRecord[] {
    if (this.#meta.root !== NO_PAGE) this.#walk(this.#meta.root);
    if (BigInt(this.#records.length) !== this.#meta.records) throw new Error('it has lost records');
    return this.#records;
  }

  #walk(number: bigint): void {
    const page = this.#pageAt(number, 1);
    const kind = page.readUInt16LE(18);
    if (kind !== LEAF && kind !== BRANCH) throw new Error(`page ${number} is of no known kind`);
    const nodes = page.readUInt16LE(20) >> 1;
    for (let index = 0; index < nodes; index++) {
      const node = PAGE_HEAD_LENGTH + page.readUInt16LE(PAGE_HEAD_LENGTH + 2 * index);
      const [low, high] = [page.readUInt32LE(node), page.readUInt16LE(node + 4)];
      if (kind === BRANCH) this.#walk(BigInt(low) + (BigInt(high) << 32n));
      else this.#readRecord(page, node, low, high);
    }
  }

  #readRecord(page: Buffer, node: number, length: number, flags: number): void {
    const keyStart = node + NODE_HEAD_LENGTH;
    const valueStart = keyStart + page.readUInt16LE(node + 6);
    if (flags !== 0 && flags !== IS_BIG) throw new Error('a record is of no known kind');
    const end = valueStart + (flags === IS_BIG ? 8 : length);
    if (end > page.length) throw new Error('a record does not fit its page');
    const value =
      flags === IS_BIG
        ? this.#readBig(page.readBigUInt64LE(valueStart), length)
        : page.subarray(valueStart, end);
    this.#records.push({ key: keyOf(page.subarray(keyStart, valueStart)), value: unpack(value) as unknown });
  }

  #readBig(number: bigint, length: number): Buffer {
    const pages = Math.ceil((PAGE_HEAD_LENGTH + length) / this.#meta.pageSize);
    const bytes = this.#pageAt(number, pages);
    if (bytes.readUInt16LE(18) !== OVERFLOW) throw new Error(`page ${number} is no part of a large record`);
    return bytes.subarray(PAGE_HEAD_LENGTH, PAGE_HEAD_LENGTH + length);
  }

  /** Reads `count` pages from this one on. */
  #pageAt(number: bigint, count: number): Buffer {
    const first = Number(number);
    if (first < 2 || first + count > this.#pages) throw new Error(`page ${number} is cut off`);
    if (this.#seen.has(first)) throw new Error(`page ${number} is used twice`);
    this.#seen.add(first);
    const { pageSize, transaction } = this.#meta;
    const bytes = Buffer.alloc(count * pageSize);
    if (readSync(this.#fd, bytes, 0, bytes.length, first * pageSize) < bytes.length) {
      throw new Error(`page ${number} is cut off`);
    }
    const isWhole = bytes.readBigUInt64LE(0) === number && bytes.readBigUInt64LE(8) <= transaction;
    if (!isWhole) throw new Error(`page ${number} is damaged`);
    return bytes;
  }
}

/** Decodes a key. A zero ends each part; a byte that looks like a mark of the encoding has an escape before it. */
function keyOf(bytes: Buffer): Key {
  const parts: string[] = [];
  let part: number[] = [];
  let isStart = true;
  for (let at = 0; at < bytes.length; at++) {
    let byte = bytes[at] ?? 0;
    if (byte === 0) {
      parts.push(Buffer.from(part).toString());
      part = [];
      isStart = true;
      continue;
    }
    const isSkipped = isStart && byte === LOW_START;
    isStart = false;
    if (isSkipped) continue;
    if (byte === ESCAPE) byte = bytes[++at] ?? 0;
    part.push(byte);
  }
  return [...parts, Buffer.from(part).toString()];
}
