/**
 * GNS3 keeps pictures of drawings in files of their own: the drawing names a file, and an SVG may name an image. This
 * reads them back into the drawing. Runs in a worker thread.
 */
import { extname } from 'node:path';
import { containedPath } from '../../base/disk/containment.js';
import { readRegularFile } from '../../base/disk/regular-file.js';
import type { StoredDrawing } from './topology-schema.js';

const PICTURES = 'project-files/images';
const LARGEST_PICTURE = 16 * 1024 * 1024;
const NAMED_IMAGE = /(href=["'])([0-9a-f]{32}\.[a-z]+)(["'])/g;
const IMAGE_TYPES: Readonly<Record<string, string>> = {
  '.png': 'image/png',
  '.jpg': 'image/jpeg',
  '.jpeg': 'image/jpeg',
  '.gif': 'image/gif',
  '.svg': 'image/svg+xml',
};

/** The drawing with its picture inline; unchanged when the picture is inline or cannot be read. */
export function withPicture(projectFolder: string, drawing: StoredDrawing): StoredDrawing {
  const { svg } = drawing;
  if (svg === undefined || svg.startsWith('<')) return drawing;
  const picture = readPicture(projectFolder, svg)?.toString('utf8');
  if (picture?.includes('<svg') !== true) return drawing;
  const inline = picture.replace(NAMED_IMAGE, (found, before: string, name: string, after: string) => {
    const type = IMAGE_TYPES[extname(name)];
    const image = type === undefined ? undefined : readPicture(projectFolder, name);
    if (type === undefined || image === undefined) return found;
    return `${before}data:${type};base64,${image.toString('base64')}${after}`;
  });
  return { ...drawing, svg: inline };
}

function readPicture(projectFolder: string, name: string): Buffer | undefined {
  try {
    return readRegularFile(containedPath(projectFolder, `${PICTURES}/${name}`), LARGEST_PICTURE);
  } catch {
    return undefined;
  }
}
