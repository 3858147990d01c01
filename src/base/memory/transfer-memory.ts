/**
 * How the bytes of transfers lie in shared memory: in slabs of 256 KiB, which the HTTP thread alone gives out. What
 * comes in over the network is copied into slabs once; a loop writes them to the disk, and tells which it has done
 * with. What is read from the disk is read into a slab, and sent from there.
 */
import { newIntRing, type IntRingPlan } from './int-ring.js';

/** What disks take without a copy: whole pages, and multiples of them. */
export const PAGE_LENGTH = 4096;
export const SLAB_LENGTH = 256 * 1024;
/** 256 MiB. Pages that nothing was written to cost nothing, and the slab given back last is given out first. */
export const SLABS = 1024;

/** The way to one loop and back. Records are: which stream, which slab, how many octets of it. */
export interface LoopRings {
  readonly filled: IntRingPlan;
  readonly done: IntRingPlan;
  /** One Int32: not 0 when the HTTP thread has been told that there is something in `done`. */
  readonly told: SharedArrayBuffer;
}

/** With room for them to begin at a whole page. */
export function newSlabs(): SharedArrayBuffer {
  return new SharedArrayBuffer(SLABS * SLAB_LENGTH + PAGE_LENGTH);
}

/** No ring is ever full: it has room for every slab there is. */
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
