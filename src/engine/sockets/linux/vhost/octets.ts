/** Copies between the memory of frames and that of guests. */

/** One stretch of memory, by octets and by words. */
export interface Octets {
  readonly bytes: Uint8Array;
  readonly words: Int32Array;
}

/** Up to here a loop is faster than the call that copies larger pieces. */
const MOST_IN_LOOP = 128;

export function copyOctets(to: Octets, at: number, from: Octets, start: number, length: number): void {
  if (length > MOST_IN_LOOP) {
    to.bytes.set(from.bytes.subarray(start, start + length), at);
    return;
  }
  let done = 0;
  if (((at | start) & 3) === 0) {
    const words = length >>> 2;
    const [target, source] = [at >>> 2, start >>> 2];
    for (let word = 0; word < words; word++) to.words[target + word] = from.words[source + word] ?? 0;
    done = words * 4;
  }
  for (; done < length; done++) to.bytes[at + done] = from.bytes[start + done] ?? 0;
}
