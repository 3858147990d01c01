/**
 * What uploads, imports and snapshots leave free of a disk, so that labs can be changed whatever comes in: the one place
 * that says whether a file may grow. Runs in worker threads, each of which is told the floor when it starts.
 */
import { statfsSync } from 'node:fs';
import { refusals } from '../errors/errors.js';

const USUAL_FLOOR = 1024 * 1024 * 1024;
/** Of a disk on which the usual floor would be much. */
const USUAL_SHARE = 0.05;
/** What a file may grow by before the disk is looked at again. */
const AHEAD = 256 * 1024;

let floorOf: (total: number) => number = () => 0;

/** For this thread; undefined is the usual floor. A thread that was not told leaves nothing free. */
export function setDiskFloor(octets: number | undefined): void {
  floorOf = (total) => octets ?? Math.min(USUAL_FLOOR, total * USUAL_SHARE);
}

/** What the disk of the folder has above its floor. */
export function roomFor(folder: string): number {
  const { free, floor } = look(folder);
  return Math.max(0, free - floor);
}

/** Refuses (507) what would leave less than the floor; returns what is above it then. */
export function checkGrowth(folder: string, octets: number): number {
  const { free, floor } = look(folder);
  const spare = free - floor - octets;
  if (spare < 0) throw refusals.diskFloor(octets, free, floor);
  return spare;
}

/** The growth of one file, which asks for room shortly before it needs it. */
export class Growth {
  readonly #folder: string;
  #granted = 0;

  constructor(folder: string) {
    this.#folder = folder;
  }

  /** The file is to get its octets from one place to another. Refuses (507) when the disk has no room for them. */
  reach(from: number, to: number): void {
    if (to <= this.#granted) return;
    const spare = checkGrowth(this.#folder, to - from);
    this.#granted = to + Math.min(AHEAD, spare);
  }
}

function look(folder: string): { readonly free: number; readonly floor: number } {
  const { blocks, bavail, bsize } = statfsSync(folder);
  // A file system that has no blocks at all does not tell.
  return blocks === 0
    ? { free: Infinity, floor: 0 }
    : { free: bavail * bsize, floor: floorOf(blocks * bsize) };
}
