/**
 * The shared memory of transfers: slabs of 256 KiB, which only the HTTP thread gives out. Bytes from the network are
 * copied into slabs once; a loop writes the slabs to the disk, and reports which are done. Bytes from the disk are read
 * into a slab, and sent from there.
 */
import { newIntRing, type IntRingPlan } from './int-ring.js';

/** Disks take whole pages, and multiples of them, without a copy. */
export const PAGE_LENGTH = 4096;
export const SLAB_LENGTH = 256 * 1024;
/** 256 MiB. Pages that are never written to cost nothing, and the slab given back last is given out first. */
export const SLABS = 1024;

/** The rings to one loop and back. A record has the number of a stream, the index of a slab, and a number of bytes. */
export interface LoopRings {
  readonly filled: IntRingPlan;
  readonly done: IntRingPlan;
  /** One Int32: not 0 when the HTTP thread has been notified of records in `done`. */
  readonly told: SharedArrayBuffer;
}

/** One page longer than the slabs, so that they can begin at a whole page. */
export function newSlabs(): SharedArrayBuffer {
  return new SharedArrayBuffer(SLABS * SLAB_LENGTH + PAGE_LENGTH);
}

/** A ring is never full, because it has room for every slab. */
export function newLoopRings(): LoopRings {
  return {
    filled: newIntRing(SLABS),
    done: newIntRing(SLABS),
    told: new SharedArrayBuffer(Int32Array.BYTES_PER_ELEMENT),
  };
}

export function slabView(slabs: Uint8Array, slab: number, start = 0, end = SLAB_LENGTH): Uint8Array {
  return slabs.subarray(slab * SLAB_LENGTH + start, slab * SLAB_LENGTH + end);
}
