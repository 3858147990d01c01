/** Memory in both forms that are needed of it, and how a stretch of one is copied into another. */
export interface Octets {
  readonly bytes: Uint8Array;
  /** Over the same octets. */
  readonly view: DataView;
}

export function octetsOver(bytes: Uint8Array): Octets {
  return { bytes, view: new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength) };
}

/**
 * Stretches must not overlap. Faster than `copyWithin`, which takes octet by octet what does not lie alike within
 * words. Floating-point numbers would be faster still, but need not keep every bit.
 */
export function copyOctets(
  from: DataView,
  fromOffset: number,
  to: DataView,
  toOffset: number,
  length: number,
): void {
  let done = 0;
  for (const most = length - 15; done < most; done += 16) {
    const first = from.getInt32(fromOffset + done, true);
    const second = from.getInt32(fromOffset + done + 4, true);
    const third = from.getInt32(fromOffset + done + 8, true);
    const fourth = from.getInt32(fromOffset + done + 12, true);
    to.setInt32(toOffset + done, first, true);
    to.setInt32(toOffset + done + 4, second, true);
    to.setInt32(toOffset + done + 8, third, true);
    to.setInt32(toOffset + done + 12, fourth, true);
  }
  for (const most = length - 3; done < most; done += 4) {
    to.setInt32(toOffset + done, from.getInt32(fromOffset + done, true), true);
  }
  for (; done < length; done++) to.setUint8(toOffset + done, from.getUint8(fromOffset + done));
}
