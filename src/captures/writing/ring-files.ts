/**
 * The files of a capture on the disk: one name, or a ring of names, of which the lowest number is the youngest. A file
 * appears with its header, and replaces whatever had its name, even a link; readers of the old file are not disturbed.
 * A capture that goes on after a gap loses nothing: its file grows, or gets a number. Runs in a writer loop.
 */
import { ringName } from '../capture-settings.js';
import {
  closeSync,
  constants,
  fchmodSync,
  fstatSync,
  ftruncateSync,
  lstatSync,
  openSync,
  realpathSync,
  renameSync,
  rmSync,
} from 'node:fs';
import { basename, dirname, join } from 'node:path';
import { refusals } from '../../base/errors/errors.js';
import { containedPath, makeFoldersOf } from '../../base/disk/containment.js';
import { createUnpublished, discardFile, writeWhole } from '../../base/disk/published-file.js';
import { UNFINISHED_BIT } from '../../engine/wire/capture-file.js';
import type { LogPlan } from './writer-orders.js';

interface RingFiles {
  readonly folder: string;
  readonly name: string;
  /** 1 for a file that is no ring. */
  readonly files: number;
}

/** A file that is being written has the sticky bit, which has no other use on files. After a crash it is found by that. */
const FINISHED_MODE = 0o644;
const UNFINISHED_MODE = FINISHED_MODE | UNFINISHED_BIT;

/** Clears the sticky bit: the file is complete. */
export function finish(fd: number): void {
  fchmodSync(fd, FINISHED_MODE);
}

/** Creates the first file and deletes the rest of an earlier ring of this name. The descriptor reads and writes. */
export function createFirst(place: RingFiles, header: Uint8Array): number {
  return create(place, header, (target) => {
    for (let number = 1; number < place.files; number++) rmSync(ringPath(target, number), { force: true });
  });
}

/**
 * Creates the next file of a ring. The others each get the next number; if the ring is full, the oldest is deleted.
 * `youngest` is undefined for a ring of an earlier server.
 */
export function createNext(place: RingFiles, header: Uint8Array, youngest: number | undefined): number {
  return create(place, header, (target) => {
    const found = lstatSync(target, { throwIfNoEntry: false });
    // Otherwise somebody has replaced the file, or a loop did this before it died.
    if (found === undefined || (youngest !== undefined && found.ino !== fstatSync(youngest).ino)) return;
    let free = 1;
    while (free < place.files - 1 && isThere(ringPath(target, free))) free++;
    rmSync(ringPath(target, free), { force: true });
    // Begins at the gap, so that it can be interrupted anywhere and repeated.
    for (let number = free; number > 0; number--) {
      renameSync(ringPath(target, number - 1), ringPath(target, number));
    }
  });
}

/** Opens the first file that a log is drained to. Its first record goes to `end`. */
export function openFirst(plan: RingFiles & Pick<LogPlan, 'header' | 'earlier'>): {
  readonly fd: number;
  readonly end: number;
} {
  const { header, earlier } = plan;
  if (earlier === undefined) return { fd: createFirst(plan, header), end: header.length };
  const { end = header.length, mark } = earlier;
  const fd = earlier.end === undefined ? createBeside(plan, header) : openAgain(plan, end);
  try {
    writeWhole(fd, mark, end);
  } catch (error) {
    closeSync(fd);
    throw error;
  }
  return { fd, end: end + mark.length };
}

/** The real folder of the files; made if it is missing. */
export function realFolder({ folder, name }: RingFiles): string {
  makeFoldersOf(folder, name);
  const below = dirname(name);
  return below === '.' ? realpathSync(folder) : containedPath(folder, below);
}

/** Creates a file that replaces none: what has its name gets a number. */
function createBeside(place: RingFiles, header: Uint8Array): number {
  if (place.files > 1) return createNext(place, header, undefined);
  return create(place, header, (target) => {
    if (!isThere(target)) return;
    let free = 1;
    while (isThere(ringPath(target, free))) free++;
    renameSync(target, ringPath(target, free));
  });
}

/** Opens a file that ends with the record before `end`, or that an unfinished record follows, which is cut off. */
function openAgain(place: RingFiles, end: number): number {
  const fd = openSync(targetOf(place), constants.O_RDWR | constants.O_NOFOLLOW | constants.O_NONBLOCK);
  try {
    const found = fstatSync(fd);
    if (!found.isFile() || found.size < end) throw refusals.fileForbidden();
    ftruncateSync(fd, end);
    fchmodSync(fd, UNFINISHED_MODE);
  } catch (error) {
    closeSync(fd);
    throw error;
  }
  return fd;
}

function targetOf(place: RingFiles): string {
  // A link in the last component is not followed but replaced.
  return join(realFolder(place), basename(place.name));
}

function create(place: RingFiles, header: Uint8Array, prepare: (target: string) => void): number {
  const target = targetOf(place);
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
