/**
 * The octets of all slabs, from where they lie as a disk wants them: at a whole page. Every thread of the process has
 * the memory at the same address, and so finds the same place.
 */
import koffi from 'koffi';
import { PAGE_LENGTH, SLAB_LENGTH, SLABS } from '../memory/transfer-memory.js';

export function slabOctets(memory: SharedArrayBuffer): Uint8Array {
  const beyond = Number(koffi.address(new Uint8Array(memory)) % BigInt(PAGE_LENGTH));
  const start = beyond === 0 ? 0 : PAGE_LENGTH - beyond;
  return new Uint8Array(memory, start, SLABS * SLAB_LENGTH);
}
