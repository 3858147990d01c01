/**
 * Where chunks are stored, by their digests: an open-addressing hash table in typed arrays, since there can be millions
 * of chunks. A record has the form that it has in the index of a pack. Pure.
 */
import { DIGEST_LENGTH } from './content-digest.js';

const OFFSET = DIGEST_LENGTH;
const LENGTH = OFFSET + 8;
export const RECORD_LENGTH = LENGTH + 8;
const LEAST_RECORDS = 1024;
const FREE = 0;

export interface ChunkPlace {
  readonly object: string;
  readonly offset: number;
}

export class ChunkTable {
  readonly #objects: string[] = [];
  #records: Buffer = Buffer.alloc(0);
  /** For each record the index of its object in `#objects`. */
  #objectOf = new Uint32Array(0);
  #count = 0;
  /** Hash slots: the number of a record plus 1, or FREE. At most half of the slots are taken. */
  #slots = new Uint32Array(0);

  get count(): number {
    return this.#count;
  }

  find(digest: Buffer, length: number): ChunkPlace | undefined {
    if (this.#count === 0) return undefined;
    const number = this.#slots[this.#slotOf(digest, 0)] ?? FREE;
    if (number === FREE) return undefined;
    const at = (number - 1) * RECORD_LENGTH;
    if (this.#records.readUInt32LE(at + LENGTH) !== length) return undefined;
    const object = this.#objects[this.#objectOf[number - 1] ?? 0] ?? '';
    return { object, offset: Number(this.#records.readBigUInt64LE(at + OFFSET)) };
  }

  /** Keeps the first place of a chunk that is added twice. */
  add(digest: Buffer, length: number, { object, offset }: ChunkPlace): void {
    const record = Buffer.alloc(RECORD_LENGTH);
    digest.copy(record);
    record.writeBigUInt64LE(BigInt(offset), OFFSET);
    record.writeUInt32LE(length, LENGTH);
    this.addRecords(object, record, () => true);
  }

  /** Adds the records of a pack's index, except chunks whose bytes are not kept. */
  addRecords(object: string, records: Buffer, isKept: (start: number, end: number) => boolean): void {
    this.#makeRoom(records.length / RECORD_LENGTH);
    let objectNumber = this.#objects.at(-1) === object ? this.#objects.length - 1 : -1;
    for (let at = 0; at < records.length; at += RECORD_LENGTH) {
      const start = Number(records.readBigUInt64LE(at + OFFSET));
      if (!isKept(start, start + records.readUInt32LE(at + LENGTH))) continue;
      const slot = this.#slotOf(records, at);
      if (this.#slots[slot] !== FREE) continue;
      if (objectNumber < 0) objectNumber = this.#objects.push(object) - 1;
      records.copy(this.#records, this.#count * RECORD_LENGTH, at, at + RECORD_LENGTH);
      this.#objectOf[this.#count] = objectNumber;
      this.#slots[slot] = ++this.#count;
    }
  }

  /** The records from this number on, as the index of a pack holds them. */
  recordsFrom(count: number): Buffer {
    return this.#records.subarray(count * RECORD_LENGTH, this.#count * RECORD_LENGTH);
  }

  /** The slot of this digest, or the free slot where it belongs. */
  #slotOf(digests: Buffer, at: number): number {
    const mask = this.#slots.length - 1;
    for (let slot = digests.readUInt32LE(at) & mask; ; slot = (slot + 1) & mask) {
      const number = this.#slots[slot] ?? FREE;
      if (number === FREE) return slot;
      const start = (number - 1) * RECORD_LENGTH;
      if (digests.compare(this.#records, start, start + DIGEST_LENGTH, at, at + DIGEST_LENGTH) === 0) {
        return slot;
      }
    }
  }

  #makeRoom(more: number): void {
    const wanted = this.#count + more;
    if (wanted <= this.#objectOf.length) return;
    const room = 2 ** Math.ceil(Math.log2(Math.max(wanted, LEAST_RECORDS)));
    const records = Buffer.alloc(room * RECORD_LENGTH);
    this.#records.copy(records, 0, 0, this.#count * RECORD_LENGTH);
    const objectOf = new Uint32Array(room);
    objectOf.set(this.#objectOf.subarray(0, this.#count));
    this.#records = records;
    this.#objectOf = objectOf;
    this.#slots = new Uint32Array(room * 2);
    for (let number = 0; number < this.#count; number++) {
      this.#slots[this.#slotOf(records, number * RECORD_LENGTH)] = number + 1;
    }
  }
}
