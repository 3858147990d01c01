/** Frames by reference, in order of arrival: where each lies in frame memory, and how long it is. */

/** What a device is given at once, and so the most that it sends to one port at once. */
export const BATCH_FRAMES = 256;

export class Batch {
  readonly offsets = new Int32Array(BATCH_FRAMES);
  readonly lengths = new Int32Array(BATCH_FRAMES);
  count = 0;

  /** The caller sees to it that there is room. */
  add(offset: number, length: number): void {
    const index = this.count++;
    this.offsets[index] = offset;
    this.lengths[index] = length;
  }
}
