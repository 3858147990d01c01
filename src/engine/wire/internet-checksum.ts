/** The checksum of IP, TCP and UDP: the complement of a sum of 16-bit numbers, whose carries are added again. */

/** Adds the octets from `start` to `end` to a sum. An odd octet at the end counts as if a 0 followed. */
export function sumOf(view: DataView, start: number, end: number, sum = 0): number {
  let total = sum;
  let at = start;
  for (const most = end - 3; at < most; at += 4) {
    const word = view.getInt32(at);
    total += (word >>> 16) + (word & 0xffff);
  }
  if (at + 2 <= end) {
    total += view.getUint16(at);
    at += 2;
  }
  return at < end ? total + (view.getUint8(at) << 8) : total;
}

export function checksumOf(sum: number): number {
  let folded = sum;
  while (folded > 0xffff) folded = Math.floor(folded / 0x1_0000) + (folded % 0x1_0000);
  return folded ^ 0xffff;
}
