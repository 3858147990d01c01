/**
 * GNS3 keeps pictures of drawings in files of their own: the drawing names an SVG or a bitmap, and an SVG may name an
 * image. This reads them back into the drawings. Runs in a worker thread.
 */
import { basename, extname } from 'node:path';
import { containedPath } from '../../base/disk/containment.js';
import { readRegularFile } from '../../base/disk/regular-file.js';
import { ContentLimit } from '../projects/content-limit.js';
import { bitmapType, imageSize } from '../symbols/image-size.js';
import type { StoredDrawing } from './topology-schema.js';

/** Folders of pictures: that of GNS3 2, and that of GNS3 1. */
const PICTURES = ['project-files/images', 'images'];
const LARGEST_PICTURE = 16 * 1024 * 1024;
const NAMED_IMAGE = /(href=["'])([0-9a-f]{32}\.[a-z0-9+]+)(["'])/g;
const SVG_TYPE = 'image/svg+xml';

/** The drawings with their pictures inline. Refuses (409) more than a topology may have. */
export function withPictures(projectFolder: string, drawings: readonly StoredDrawing[]): StoredDrawing[] {
  const limit = new ContentLimit();
  return drawings.map((drawing) => {
    const whole = withPicture(projectFolder, drawing);
    limit.add(1, whole.svg?.length ?? 0);
    return whole;
  });
}

/** The drawing with its picture inline; unchanged when the picture is inline or cannot be read. */
export function withPicture(projectFolder: string, drawing: StoredDrawing): StoredDrawing {
  const { svg } = drawing;
  if (svg === undefined || svg.includes('<')) return drawing;
  const bytes = readPicture(projectFolder, svg);
  const picture = bytes === undefined ? undefined : (bitmapDrawing(bytes) ?? bytes.toString('utf8'));
  if (picture?.includes('<svg') !== true) return drawing;
  const inline = picture.replace(NAMED_IMAGE, (found, before: string, name: string, after: string) => {
    const image = readPicture(projectFolder, name);
    const type = image === undefined ? undefined : imageType(name, image);
    if (type === undefined || image === undefined) return found;
    return `${before}${dataUri(type, image)}${after}`;
  });
  return { ...drawing, svg: inline };
}

/** An SVG that shows the bitmap in its own size. Undefined when the file is no bitmap. */
function bitmapDrawing(bytes: Buffer): string | undefined {
  const type = bitmapType(bytes);
  const size = type === undefined ? undefined : imageSize(bytes);
  if (type === undefined || size === undefined) return undefined;
  const sides = `height="${size.height}" width="${size.width}"`;
  return (
    `<svg xmlns="http://www.w3.org/2000/svg" xmlns:xlink="http://www.w3.org/1999/xlink" ${sides}>` +
    `<image ${sides} xlink:href="${dataUri(type, bytes)}"/></svg>`
  );
}

/** By its first bytes, because GNS3 takes the ending from what a client said. */
function imageType(name: string, image: Buffer): string | undefined {
  return bitmapType(image) ?? (extname(name) === '.svg' ? SVG_TYPE : undefined);
}

function dataUri(type: string, image: Buffer): string {
  return `data:${type};base64,${image.toString('base64')}`;
}

/** As the reference does, looks at the last part of the name only. */
function readPicture(projectFolder: string, name: string): Buffer | undefined {
  for (const folder of PICTURES) {
    try {
      return readRegularFile(containedPath(projectFolder, `${folder}/${basename(name)}`), LARGEST_PICTURE);
    } catch {
      // It is not there, or is no picture.
    }
  }
  return undefined;
}
