/** Copies between the memory of frames and that of guests. */

/** One stretch of memory, by octets and by words. */
export interface Octets {
  readonly bytes: Uint8Array;
  readonly words: Int32Array;
}

/** Up to here a loop is faster than the call that copies larger pieces. */
const MOST_IN_LOOP = 128;

export function copyOctets(to: Octets, at: number, from: Octets, start: number, length: number): void {
  if (length > MOST_IN_LOOP) to.bytes.set(from.bytes.subarray(start, start + length), at);
  else if (((at | start) & 3) === 0) copyWords(to, at, from, start, length);
  else copyBytes(to.bytes, at, from.bytes, start, length);
}

/** Both places are whole words. Four words a round, since a round costs as much as the copy of one. */
function copyWords(to: Octets, at: number, from: Octets, start: number, length: number): void {
  const target = to.words;
  const source = from.words;
  let put = at >>> 2;
  let word = start >>> 2;
  const end = word + (length >>> 2);
  for (const most = end - 3; word < most; word += 4, put += 4) {
    target[put] = source[word] ?? 0;
    target[put + 1] = source[word + 1] ?? 0;
    target[put + 2] = source[word + 2] ?? 0;
    target[put + 3] = source[word + 3] ?? 0;
  }
  for (; word < end; word++, put++) target[put] = source[word] ?? 0;
  const done = length & ~3;
  if (done < length) copyBytes(to.bytes, at + done, from.bytes, start + done, length - done);
}

function copyBytes(to: Uint8Array, at: number, from: Uint8Array, start: number, length: number): void {
  for (let done = 0; done < length; done++) to[at + done] = from[start + done] ?? 0;
}
