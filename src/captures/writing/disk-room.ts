/**
 * Whether the disk of a folder has more room than is to be left free. Each folder is looked at once a second, and each
 * time while there is too little: who has made room is not kept waiting.
 */
import { statfsSync } from 'node:fs';
import { refusals } from '../../base/errors/errors.js';

const LOOK_MS = 1000;

export class DiskRoom {
  readonly #floorBytes: number;
  /** Those that had enough when they were last looked at. */
  readonly #roomy = new Set<string>();
  #lookedAt = 0;

  constructor(floorBytes: number) {
    this.#floorBytes = floorBytes;
  }

  /** Refuses to go on when there is too little. */
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
    // The folder has been taken away from under its files, which go on.
    return Infinity;
  }
}
