/** Programs for the MIPS processors of the routers that Dynamips has, as words. */

/** The register that is always 0, and one for values that are written. */
export const ZERO = 0;
const VALUE = 12;
/** The instruction that does nothing. */
export const NOTHING = 0;
/** The addresses at which a program reads and writes physical ones, past the cache and through it. */
export const UNCACHED = 0xa000_0000;
export const CACHED = 0x8000_0000;

/** Instructions; offsets of branches count from the instruction after them. */
const upper = (to: number, value: number): number => word(0x3c00_0000, 0, to, value >>> 16);
const lower = (to: number, value: number): number => word(0x3400_0000, to, to, value);
export const store = (from: number, at: number, offset: number): number =>
  word(0xac00_0000, at, from, offset);
export const load = (to: number, at: number, offset: number): number => word(0x8c00_0000, at, to, offset);
export const storeByte = (from: number, at: number, offset: number): number =>
  word(0xa000_0000, at, from, offset);
export const loadByte = (to: number, at: number, offset: number): number => word(0x9000_0000, at, to, offset);
export const bits = (to: number, mask: number): number => word(0x3000_0000, to, to, mask);
export const add = (to: number, value: number): number => word(0x2400_0000, to, to, value);
export const unlessSet = (value: number, offset: number): number => word(0x1000_0000, value, ZERO, offset);
export const ifNegative = (value: number, offset: number): number => word(0x0400_0000, value, 0, offset);
export const jump = (to: number): number => word(0x0000_0008, to, 0, 0);
export const always = (offset: number): number => unlessSet(ZERO, offset);

function word(operation: number, source: number, target: number, value: number): number {
  return (operation | (source << 21) | (target << 16) | (value & 0xffff)) >>> 0;
}

/** Gives a register a value. */
export function set(register: number, value: number): number[] {
  return [upper(register, value), lower(register, value)];
}

/** Writes a word at an offset from the address in a register. */
export function write(at: number, offset: number, value: number): number[] {
  return [...set(VALUE, value), store(VALUE, at, offset)];
}

/** The PCI controllers are little-endian. */
export function swapped(value: number): number {
  const bytes = Buffer.alloc(4);
  bytes.writeUInt32LE(value);
  return bytes.readUInt32BE();
}
