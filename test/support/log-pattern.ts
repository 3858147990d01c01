/** Octets that tell where in a log they stand: what stands elsewhere differs soon. */
export function patternAt(position: number): number {
  const low = position >>> 0;
  return (Math.imul(low, 0x9e37_79b1) ^ (low >>> 16) ^ (low >>> 7)) & 0xff;
}

export function isPattern(octets: Uint8Array, position: number): boolean {
  for (let index = 0; index < octets.length; index++) {
    if (octets[index] !== patternAt(position + index)) return false;
  }
  return true;
}
