/** Unpacks the images of an archive, and adds new ones to the library; none is replaced. Runs in worker threads. */
import { chmodSync, closeSync, linkSync, readSync } from 'node:fs';
import { dirname, join } from 'node:path';
import type { JobProgress } from '../content/job-progress.js';
import { Refusal } from '../../base/errors/errors.js';
import { IMAGE_FOLDERS, imageName } from '../../files/images/image-name.js';
import { containedPath, makeFoldersOf } from '../../base/disk/containment.js';
import { syncFolder } from '../../base/disk/published-file.js';
import { openRegularFile } from '../../base/disk/regular-file.js';
import { unpack, type ProjectArchive } from './project-archive.js';

const PLACED = /^images\/((?:QEMU|IOU|IOS)\/(.+))$/;
const PROGRAMS = `${IMAGE_FOLDERS.iou}/`;
const EXECUTABLE = 0o755;
const PLAIN = 0o644;
const PIECE = 1024 * 1024;

export interface PlacedImages {
  /** The new images, as paths in the images folder. */
  readonly placed: readonly string[];
  readonly warnings: readonly string[];
}

/** Whether a member of an archive is an image for the library, and no file of the project. */
export function isOfLibrary(path: string): boolean {
  return PLACED.test(path);
}

/** Unpacks the images into the new folder `aside`, and returns their paths in it. */
export async function unpackImages(
  fd: number,
  archive: ProjectArchive,
  aside: string,
  progress: JobProgress,
): Promise<string[]> {
  const members = archive.members.filter(({ kind, path }) => kind === 'file' && isImage(path));
  const placeOf = (path: string): string | undefined => PLACED.exec(path)?.[1];
  if (members.length > 0) await unpack(fd, { ...archive, members }, aside, placeOf, progress);
  return members.flatMap(({ path }) => placeOf(path) ?? []);
}

/** Links each image into the library; `aside` must be on the same file system. */
export function placeImages(root: string, aside: string, paths: readonly string[]): PlacedImages {
  const placed: string[] = [];
  const warnings: string[] = [];
  for (const path of paths) {
    try {
      const outcome = placeImage(root, join(aside, path), path);
      if (outcome === 'placed') placed.push(path);
      if (outcome === 'other') {
        warnings.push(`The image ${path} is here already with other content: it was kept as it is`);
      }
    } catch (error) {
      if (!(error instanceof Refusal)) throw error;
      warnings.push(`The image ${path} was left out: ${error.message}`);
    }
  }
  return { placed, warnings };
}

function isImage(path: string): boolean {
  const name = PLACED.exec(path)?.[2];
  try {
    return name !== undefined && imageName(name, 'write') === name;
  } catch {
    return false;
  }
}

function placeImage(root: string, source: string, path: string): 'placed' | 'same' | 'other' {
  makeFoldersOf(root, path);
  const target = containedPath(root, path);
  chmodSync(source, path.startsWith(PROGRAMS) ? EXECUTABLE : PLAIN);
  try {
    // Unlike renaming, linking replaces nothing.
    linkSync(source, target);
  } catch (error) {
    if (!(error instanceof Error && 'code' in error && error.code === 'EEXIST')) throw error;
    return isSame(source, target) ? 'same' : 'other';
  }
  syncFolder(dirname(target));
  return 'placed';
}

function isSame(one: string, other: string): boolean {
  const a = openRegularFile(one);
  try {
    const b = openRegularFile(other);
    try {
      return a.size === b.size && hasSameBytes(a.fd, b.fd);
    } finally {
      closeSync(b.fd);
    }
  } finally {
    closeSync(a.fd);
  }
}

/** Compares files of the same length. */
function hasSameBytes(one: number, other: number): boolean {
  const a = Buffer.allocUnsafeSlow(PIECE);
  const b = Buffer.allocUnsafeSlow(PIECE);
  for (let position = 0; ;) {
    const count = readSync(one, a, 0, PIECE, position);
    if (readSync(other, b, 0, PIECE, position) !== count) return false;
    if (count === 0) return true;
    if (a.compare(b, 0, count, 0, count) !== 0) return false;
    position += count;
  }
}
