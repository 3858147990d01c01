/** The temporary files and the targets of uploads, checked against links and folders. Runs in worker threads. */
import { closeSync, fstatSync, lstatSync, realpathSync, statSync } from 'node:fs';
import { basename, dirname } from 'node:path';
import { refusals } from '../../base/errors/errors.js';
import { clientPath } from '../../base/disk/containment.js';
import { contentVersion } from '../../base/disk/content-version.js';
import { checkGrowth, Growth } from '../../base/disk/disk-floor.js';
import { isBelow } from '../../base/disk/path-order.js';
import { createUnpublished, makeFolder, type UnpublishedFile } from '../../base/disk/published-file.js';
import { openRegularFile } from '../../base/disk/regular-file.js';
import type { Present } from './content-writer.js';
import type { FilePlace } from './transfer-orders.js';

const PERMISSIONS = 0o777;

/** Creates the temporary file, and opens the file at the target if it may have the same content. Refuses bad targets. */
export function createForLanding(
  place: FilePlace,
  size: number | undefined,
  mode: number,
): { file: UnpublishedFile; present: Present | undefined; growth: Growth } {
  const temporary = temporaryFolder(place);
  const target = landingTarget(place, temporary);
  const present = presentFile(target, size, mode);
  try {
    if (present === undefined) checkGrowth(temporary, size ?? 0);
    return { file: createUnpublished(temporary, target), present, growth: new Growth(temporary) };
  } catch (error) {
    if (present !== undefined) closeSync(present.fd);
    throw error;
  }
}

/** The real path of the target. Its folder exists afterwards; the path itself is free or a regular file. */
export function landingTarget(place: FilePlace, temporary: string): string {
  const { path, makesFolders } = place;
  const target = clientPath(place, 'write', makesFolders);
  // The temporary folder is emptied by its owner.
  if (target === temporary || isBelow(temporary, target)) throw refusals.fileForbidden();
  if (!statSync(dirname(target)).isDirectory()) throw refusals.notDirectory(basename(path));
  const found = statSync(target, { throwIfNoEntry: false });
  if (found?.isDirectory() === true) throw refusals.isDirectory(basename(path));
  if (found?.isFile() === false) throw refusals.fileForbidden();
  return target;
}

/** Makes the folder if it is missing, but not its root. Refuses a link in its place. */
export function temporaryFolder({ root, temporary }: Pick<FilePlace, 'root' | 'temporary'>): string {
  statSync(root);
  makeFolder(temporary);
  if (!lstatSync(temporary).isDirectory()) throw refusals.fileForbidden();
  return realpathSync(temporary);
}

/** The file at the target, if it has the length and the permissions of the upload. */
function presentFile(target: string, size: number | undefined, mode: number): Present | undefined {
  if (size === undefined || size === 0) return undefined;
  const found = statSync(target, { throwIfNoEntry: false });
  if (found?.size !== size || (found.mode & PERMISSIONS) !== mode) return undefined;
  try {
    const { fd } = openRegularFile(target);
    return { fd, version: contentVersion(fstatSync(fd, { bigint: true })) };
  } catch {
    // The file has gone meanwhile or cannot be read; it can be replaced all the same.
    return undefined;
  }
}
