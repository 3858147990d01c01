/** Packs changes and records for other threads: msgpack in a buffer of exactly their size, so that it can be moved. */
import { pack, unpack, unpackMultiple } from 'msgpackr';
import { rawChange, type RawChange } from './journal-format.js';
import type { Change, Packed, StoredRecord } from './store.js';

/** Copies a slice that the encoder returns; otherwise the whole pooled buffer would be cloned or moved. */
function exact(bytes: Uint8Array): Packed {
  return new Uint8Array(bytes);
}

/** Values are packed as the journal has them, so that the state thread need not look into them. */
export const packChanges = (changes: readonly Change[]): Packed => exact(pack(changes.map(rawChange)));
export const unpackRawChanges = (bytes: Uint8Array): RawChange[] => unpack(bytes) as RawChange[];
export const unpackChanges = (bytes: Uint8Array): Change[] => unpackRawChanges(bytes).map(changeOf);
export const packRawChanges = (changes: readonly RawChange[]): Packed => exact(pack(changes));
export const packRecords = (records: readonly StoredRecord[]): Packed => exact(pack(records));
export const unpackRecords = (bytes: Uint8Array): StoredRecord[] => unpack(bytes) as StoredRecord[];

/** It takes well below a millisecond to unpack so many bytes. */
const BATCH_BYTES = 32 * 1024;
/** The length of the head of an array by its first byte. The head of a short array is one byte. */
const HEADS: Readonly<Record<number, number>> = { 0xdc: 3, 0xdd: 5 };

/** Unpacks the records in batches, for a thread that must not be held for long. */
export function* recordBatches(bytes: Uint8Array): Generator<StoredRecord[]> {
  let position = HEADS[bytes[0] ?? 0] ?? 1;
  let size = BATCH_BYTES;
  while (position < bytes.length) {
    const window = bytes.subarray(position, position + size);
    const batch: StoredRecord[] = [];
    let length = 0;
    try {
      // The items of an array follow each other like separate values.
      unpackMultiple(window, (record: StoredRecord, _start, end) => {
        batch.push(record);
        length = end ?? 0;
      });
    } catch (error) {
      // The last record ends outside of the window. The next window begins with it, and is larger if necessary.
      if (position + size >= bytes.length) throw error;
    }
    position += length;
    size = length === 0 ? size * 2 : BATCH_BYTES;
    if (batch.length > 0) yield batch;
  }
}

export function changeOf({ kind, key, value }: RawChange): Change {
  if (kind === 'put') return { put: key, value: unpack(value) as unknown };
  return kind === 'remove' ? { remove: key } : { clear: key };
}
