/**
 * The floor is the space that uploads, imports and snapshots leave free on a disk, so that labs can always be changed.
 * This is the one place that decides whether a file may grow. Runs in worker threads, each of which gets the floor when
 * it starts.
 */
import { statfsSync } from 'node:fs';
import { refusals } from '../errors/errors.js';

const USUAL_FLOOR = 1024 * 1024 * 1024;
/** On a small disk the floor is this share of it. */
const USUAL_SHARE = 0.05;
/** A file may grow by so much before the free space is read again. */
const AHEAD = 256 * 1024;

let floorOf: (total: number) => number = () => 0;

/** Sets the floor of this thread; undefined is the usual floor. A thread without one leaves nothing free. */
export function setDiskFloor(bytes: number | undefined): void {
  floorOf = (total) => bytes ?? Math.min(USUAL_FLOOR, total * USUAL_SHARE);
}

/** The free space of the folder's disk above the floor. */
export function roomFor(folder: string): number {
  const { free, floor } = look(folder);
  return Math.max(0, free - floor);
}

/** Refuses (507) a growth that would leave less than the floor; returns how much is free above the floor after it. */
export function checkGrowth(folder: string, bytes: number): number {
  const { free, floor } = look(folder);
  const spare = free - floor - bytes;
  if (spare < 0) throw refusals.diskFloor(bytes, free, floor);
  return spare;
}

/** Checks the growth of one file, a little ahead of its end. */
export class Growth {
  readonly #folder: string;
  #granted = 0;

  constructor(folder: string) {
    this.#folder = folder;
  }

  /** Lets the file grow from one length to another. Refuses (507) when the disk has no room for that. */
  reach(from: number, to: number): void {
    if (to <= this.#granted) return;
    const spare = checkGrowth(this.#folder, to - from);
    this.#granted = to + Math.min(AHEAD, spare);
  }
}

function look(folder: string): { readonly free: number; readonly floor: number } {
  const { blocks, bavail, bsize } = statfsSync(folder);
  // A file system without blocks does not tell its free space.
  return blocks === 0
    ? { free: Infinity, floor: 0 }
    : { free: bavail * bsize, floor: floorOf(blocks * bsize) };
}
