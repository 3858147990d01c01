/** Memory for direct writes, which the disk takes without a copy, must begin at a whole page. */
import koffi from 'koffi';
import { PAGE_LENGTH } from '../memory/transfer-memory.js';

/** Every thread has the shared memory at the same address, so each finds the same place. */
export function fromWholePage(memory: ArrayBufferLike, length: number): Uint8Array {
  const beyond = Number(koffi.address(new Uint8Array(memory)) % BigInt(PAGE_LENGTH));
  const start = beyond === 0 ? 0 : PAGE_LENGTH - beyond;
  return new Uint8Array(memory, start, length);
}
