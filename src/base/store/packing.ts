/** How changes and records cross threads: msgpack in a buffer of exactly their size, so that it can be moved. */
import { pack, unpack, unpackMultiple } from 'msgpackr';
import type { Change, Packed, StoredRecord } from './store.js';

/** The encoder hands out slices of a pooled buffer, which would be cloned or moved whole: copy them out. */
function exact(bytes: Uint8Array): Packed {
  return new Uint8Array(bytes);
}

export const packChanges = (changes: readonly Change[]): Packed => exact(pack(changes));
export const unpackChanges = (bytes: Uint8Array): Change[] => unpack(bytes) as Change[];
export const packRecords = (records: readonly StoredRecord[]): Packed => exact(pack(records));
export const unpackRecords = (bytes: Uint8Array): StoredRecord[] => unpack(bytes) as StoredRecord[];

/** Records of so many octets are unpacked in well below a millisecond. */
const BATCH_OCTETS = 32 * 1024;
/** How long the head of an array is, by its first octet; that of a short one is this octet alone. */
const HEADS: Readonly<Record<number, number>> = { 0xdc: 3, 0xdd: 5 };

/** The same, some at a time: for a thread that must not be held for all of them. */
export function* recordBatches(bytes: Uint8Array): Generator<StoredRecord[]> {
  let position = HEADS[bytes[0] ?? 0] ?? 1;
  let size = BATCH_OCTETS;
  while (position < bytes.length) {
    const window = bytes.subarray(position, position + size);
    const batch: StoredRecord[] = [];
    let length = 0;
    try {
      // The items of an array follow each other like values of their own.
      unpackMultiple(window, (record: StoredRecord, _start, end) => {
        batch.push(record);
        length = end ?? 0;
      });
    } catch (error) {
      // The last record ends outside of the window: it comes with the next one, which is larger when it must be.
      if (position + size >= bytes.length) throw error;
    }
    position += length;
    size = length === 0 ? size * 2 : BATCH_OCTETS;
    if (batch.length > 0) yield batch;
  }
}
