/** The extents of a file as they are found, from front to back. Pure. */
import type { Extent } from './content-tree.js';

export class ExtentList {
  readonly #extents: Extent[] = [];

  /** What continues the one before, in the file and in the object, becomes one with it. */
  add(extent: Extent): void {
    const last = this.#extents.at(-1);
    if (
      last?.object === extent.object &&
      last.position + last.length === extent.position &&
      last.offset + last.length === extent.offset
    ) {
      this.#extents[this.#extents.length - 1] = { ...last, length: last.length + extent.length };
    } else {
      this.#extents.push(extent);
    }
  }

  get extents(): readonly Extent[] {
    return this.#extents;
  }
}
