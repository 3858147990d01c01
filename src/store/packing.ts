/** How changes and records cross threads: msgpack in a buffer of exactly their size, so that it can be moved. */
import { pack, unpack } from 'msgpackr';
import type { Change, StoredRecord } from './store.js';

export type Packed = Uint8Array<ArrayBuffer>;

/** The encoder hands out slices of a pooled buffer, which would be cloned or moved whole: copy them out. */
function exact(bytes: Uint8Array): Packed {
  return new Uint8Array(bytes);
}

export const packChanges = (changes: readonly Change[]): Packed => exact(pack(changes));
export const unpackChanges = (bytes: Uint8Array): Change[] => unpack(bytes) as Change[];
export const packRecords = (records: readonly StoredRecord[]): Packed => exact(pack(records));
export const unpackRecords = (bytes: Uint8Array): StoredRecord[] => unpack(bytes) as StoredRecord[];
