/** Memory that the disk takes writes from without a copy: it begins at a whole page. */
import koffi from 'koffi';
import { PAGE_LENGTH } from '../memory/transfer-memory.js';

/** Every thread that has the memory has it at the same address, and so finds the same place. */
export function fromWholePage(memory: ArrayBufferLike, length: number): Uint8Array {
  const beyond = Number(koffi.address(new Uint8Array(memory)) % BigInt(PAGE_LENGTH));
  const start = beyond === 0 ? 0 : PAGE_LENGTH - beyond;
  return new Uint8Array(memory, start, length);
}
