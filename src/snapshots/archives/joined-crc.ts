/** Joins the CRC-32 of two pieces of content to that of both, by their lengths alone. Pure. */

/** The polynomial of CRC-32; the highest bit of a number is the coefficient of x⁰. */
const POLYNOMIAL = 0xedb88320;
const ONE = 0x8000_0000;
/** The powers x^(2^n). They repeat after 32, because x^(2^32) is x. */
const SQUARES = squares();
/** A byte has eight bits: x^(2^3). */
const BYTE = 3;

/** `secondLength` is the number of bytes that the second piece has. */
export function joinedCrc32(first: number, second: number, secondLength: number): number {
  return (product(powerOfBytes(secondLength), first) ^ second) >>> 0;
}

/** x to the power of the bits of so many bytes. */
function powerOfBytes(count: number): number {
  let power = ONE;
  for (let left = count, bit = BYTE; left > 0; left = Math.floor(left / 2), bit++) {
    if (left % 2 === 1) power = product(SQUARES[bit % SQUARES.length] ?? ONE, power);
  }
  return power;
}

/** Modulo the polynomial. */
function product(a: number, b: number): number {
  let sum = 0;
  let shifted = b;
  for (let bit = ONE; bit !== 0; bit >>>= 1) {
    if ((a & bit) !== 0) sum ^= shifted;
    shifted = (shifted & 1) === 0 ? shifted >>> 1 : (shifted >>> 1) ^ POLYNOMIAL;
  }
  return sum >>> 0;
}

function squares(): number[] {
  const found = [ONE >>> 1];
  for (let last = ONE >>> 1; found.length < 32;) {
    last = product(last, last);
    found.push(last);
  }
  return found;
}
