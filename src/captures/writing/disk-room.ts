/**
 * Checks that the disk of a folder has more free bytes than the floor. A folder is measured once a second, but with
 * every check while there is too little room, so that writing goes on as soon as there is room again.
 */
import { statfsSync } from 'node:fs';
import { refusals } from '../../base/errors/errors.js';

const LOOK_MS = 1000;

export class DiskRoom {
  readonly #floorBytes: number;
  /** The folders that had enough room when they were last measured. */
  readonly #roomy = new Set<string>();
  #lookedAt = 0;

  constructor(floorBytes: number) {
    this.#floorBytes = floorBytes;
  }

  /** Refuses (507) when there is too little room. */
  check(folder: string, now: number): void {
    if (now - this.#lookedAt >= LOOK_MS) {
      this.#roomy.clear();
      this.#lookedAt = now;
    }
    if (this.#roomy.has(folder)) return;
    if (freeBytes(folder) < this.#floorBytes) throw refusals.captureFloor(this.#floorBytes);
    this.#roomy.add(folder);
  }
}

function freeBytes(folder: string): number {
  try {
    const { bavail, bsize } = statfsSync(folder);
    return bavail * bsize;
  } catch {
    // The folder was deleted; its open files can still be written.
    return Infinity;
  }
}
