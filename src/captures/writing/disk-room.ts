/**
 * Whether the disk of a folder has more room than is to be left free. Each folder is looked at once a second, and each
 * time while there is too little: who has made room is not kept waiting.
 */
import { statfsSync } from 'node:fs';
import { refusals } from '../../base/errors/errors.js';

const LOOK_MS = 1000;

export class DiskRoom {
  readonly #floorOctets: number;
  /** Those that had enough when they were last looked at. */
  readonly #roomy = new Set<string>();
  #lookedAt = 0;

  constructor(floorOctets: number) {
    this.#floorOctets = floorOctets;
  }

  /** Refuses to go on when there is too little. */
  check(folder: string, now: number): void {
    if (now - this.#lookedAt >= LOOK_MS) {
      this.#roomy.clear();
      this.#lookedAt = now;
    }
    if (this.#roomy.has(folder)) return;
    if (freeOctets(folder) < this.#floorOctets) throw refusals.captureFloor(this.#floorOctets);
    this.#roomy.add(folder);
  }
}

function freeOctets(folder: string): number {
  try {
    const { bavail, bsize } = statfsSync(folder);
    return bavail * bsize;
  } catch {
    // The folder has been taken away from under its files, which go on.
    return Infinity;
  }
}
