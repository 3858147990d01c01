/** The images that an export takes along (contract C.2). Runs in worker threads. */
import { linkSync, lstatSync, mkdirSync, realpathSync } from 'node:fs';
import { join, posix, relative } from 'node:path';
import { Refusal } from '../../base/errors/errors.js';
import { IMAGE_FOLDERS, imageName } from '../../files/images/image-name.js';
import { imageTasks } from '../../files/images/image-tasks.js';
import { containedPath } from '../../base/disk/containment.js';
import type { PlannedMember, PlannedPath } from '../archives/zip-plan.js';
import { ROOT } from './planned-files.js';
import { baseName, type NamedImage } from './portable-content.js';

export const IMAGES = 'images';

/** Those that are here; each stays what it is until the export is over. `root` is the images folder. */
export function plannedImages(root: string, work: string, named: readonly NamedImage[]): PlannedMember[] {
  const held = join(work, IMAGES);
  mkdirSync(held, { recursive: true });
  const members = new Map<string, PlannedMember>();
  for (const image of named) {
    const path = `${IMAGES}/${IMAGE_FOLDERS[image.emulator]}/${baseName(image.name)}`;
    const found = members.has(path) ? undefined : findImage(root, image);
    if (found === undefined) continue;
    const { size, mode, mtimeMs: modifiedMs } = lstatSync(found);
    const file = hold(root, found, held, String(members.size));
    members.set(path, { path, kind: 'file', mode: mode & 0o777, modifiedMs, content: { file }, size });
  }
  return [...members.values()];
}

/** Undefined for what is no image of this server, whatever a topology file calls one. */
function findImage(root: string, { emulator, name }: NamedImage): string | undefined {
  const own = `${posix.join(root, IMAGE_FOLDERS[emulator])}/`;
  const wanted = name.startsWith(own) ? name.slice(own.length) : name;
  try {
    const fit = imageName(wanted.startsWith('/') ? baseName(wanted) : wanted, 'read');
    const found = imageTasks.findImage({ root, emulator, name: fit });
    const path = found === undefined ? undefined : containedPath(root, found);
    return path !== undefined && lstatSync(path).isFile() ? path : undefined;
  } catch (error) {
    if (error instanceof Refusal || (error instanceof Error && 'code' in error)) return undefined;
    throw error;
  }
}

/** An upload that replaces the image leaves the second name with what it had. */
function hold(root: string, path: string, held: string, name: string): PlannedPath {
  try {
    linkSync(path, join(held, name));
    return { root: ROOT.work, path: `${IMAGES}/${name}` };
  } catch {
    return { root: ROOT.images, path: relative(realpathSync(root), path) };
  }
}
