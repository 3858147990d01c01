/**
 * Where a capture's files lie: one name, or a ring of names of which the lowest number is the youngest. A file
 * appears with its header and takes its name from whatever had it, link or not, so who reads the old one goes on
 * doing so. Runs in a writer loop.
 */
import { ringName } from '../capture-settings.js';
import { fchmodSync, fstatSync, lstatSync, realpathSync, renameSync, rmSync } from 'node:fs';
import { basename, dirname, join } from 'node:path';
import { refusals } from '../../base/errors/errors.js';
import { containedPath, makeFoldersOf } from '../../base/disk/containment.js';
import { createUnpublished, discardFile, writeWhole } from '../../base/disk/published-file.js';
import { UNFINISHED_BIT } from '../../engine/wire/capture-file.js';

export interface RingFiles {
  readonly folder: string;
  readonly name: string;
  /** 1 for a file that is no ring. */
  readonly files: number;
}

/** A file that is being written has the sticky bit, which means nothing else of a file: who finds one mends it. */
const FINISHED_MODE = 0o644;
const UNFINISHED_MODE = FINISHED_MODE | UNFINISHED_BIT;

/** It has all that it will have. */
export function finish(fd: number): void {
  fchmodSync(fd, FINISHED_MODE);
}

/** The first file; what is left of an earlier ring of this name goes. Returns its descriptor, for both ways. */
export function createFirst(place: RingFiles, header: Uint8Array): number {
  return create(place, header, (target) => {
    for (let number = 1; number < place.files; number++) rmSync(ringPath(target, number), { force: true });
  });
}

/** The next file of a ring, whose other files each get the next number; the oldest is deleted when it is full. */
export function createNext(place: RingFiles, header: Uint8Array, youngest: number): number {
  return create(place, header, (target) => {
    // Otherwise the file is not ours any more, or this was done before and not told.
    if (lstatSync(target, { throwIfNoEntry: false })?.ino !== fstatSync(youngest).ino) return;
    let free = 1;
    while (free < place.files - 1 && isThere(ringPath(target, free))) free++;
    rmSync(ringPath(target, free), { force: true });
    // From the gap on, so that it may be interrupted anywhere and done again.
    for (let number = free; number > 0; number--) {
      renameSync(ringPath(target, number - 1), ringPath(target, number));
    }
  });
}

/** The real folder of the files. */
export function realFolder({ folder, name }: RingFiles): string {
  makeFoldersOf(folder, name);
  const below = dirname(name);
  return below === '.' ? realpathSync(folder) : containedPath(folder, below);
}

function create(place: RingFiles, header: Uint8Array, prepare: (target: string) => void): number {
  // The last component is not followed, it is replaced.
  const target = join(realFolder(place), basename(place.name));
  if (lstatSync(target, { throwIfNoEntry: false })?.isDirectory() === true) {
    throw refusals.isDirectory(basename(place.name));
  }
  const file = createUnpublished(containedPath(place.folder, 'tmp'), target);
  try {
    writeWhole(file.fd, header, 0);
    fchmodSync(file.fd, UNFINISHED_MODE);
    prepare(target);
    renameSync(file.temporary, target);
  } catch (error) {
    discardFile(file);
    throw error;
  }
  return file.fd;
}

function ringPath(target: string, number: number): string {
  return join(dirname(target), ringName(basename(target), number));
}

function isThere(path: string): boolean {
  return lstatSync(path, { throwIfNoEntry: false }) !== undefined;
}
