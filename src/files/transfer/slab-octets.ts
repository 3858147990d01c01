/** The octets of all slabs, from where they lie as a disk wants them. Every thread finds the same place. */
import { SLAB_LENGTH, SLABS } from '../../base/memory/transfer-memory.js';
import { fromWholePage } from '../../base/disk/whole-pages.js';

export function slabOctets(memory: SharedArrayBuffer): Uint8Array {
  return fromWholePage(memory, SLABS * SLAB_LENGTH);
}
