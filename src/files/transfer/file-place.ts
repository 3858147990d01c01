/** Where uploads lie while they are on their way, and where they go. Runs in worker threads. */
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

/** A new file on its way to the place, and the one that is there when it may be the same. Refuses what does not fit. */
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

/** The real path that the file gets. Its folder is there afterwards; the path itself may be free, or a file. */
export function landingTarget(place: FilePlace, temporary: string): string {
  const { path, makesFolders } = place;
  const target = clientPath(place, 'write', makesFolders);
  // What is put into the temporary folder is lost when its owner empties it.
  if (target === temporary || isBelow(temporary, target)) throw refusals.fileForbidden();
  if (!statSync(dirname(target)).isDirectory()) throw refusals.notDirectory(basename(path));
  const found = statSync(target, { throwIfNoEntry: false });
  if (found?.isDirectory() === true) throw refusals.isDirectory(basename(path));
  if (found?.isFile() === false) throw refusals.fileForbidden();
  return target;
}

/** Made when it is not there, unless the root has gone meanwhile. Refuses a link that was planted in its place. */
export function temporaryFolder({ root, temporary }: Pick<FilePlace, 'root' | 'temporary'>): string {
  statSync(root);
  makeFolder(temporary);
  if (!lstatSync(temporary).isDirectory()) throw refusals.fileForbidden();
  return realpathSync(temporary);
}

/** The file at the target when it is as long as what comes, and may be used as what comes will be. */
function presentFile(target: string, size: number | undefined, mode: number): Present | undefined {
  if (size === undefined || size === 0) return undefined;
  const found = statSync(target, { throwIfNoEntry: false });
  if (found?.size !== size || (found.mode & PERMISSIONS) !== mode) return undefined;
  try {
    const { fd } = openRegularFile(target);
    return { fd, version: contentVersion(fstatSync(fd, { bigint: true })) };
  } catch {
    // It has gone meanwhile, or may not be read, and can be replaced all the same.
    return undefined;
  }
}
