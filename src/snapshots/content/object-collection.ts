/** Giving back what no snapshot relies on any more. Runs in a worker thread. */
import { closeSync, constants, fstatSync, lstatSync, openSync, readdirSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { punchHole } from '../../base/disk/linux-files.js';
import { ByteRanges } from './byte-ranges.js';
import { readPlaces } from './manifest.js';
import { CONTENT, isPack, objectBehind } from './object-name.js';
import { objectUse, useOf } from './object-use.js';
import { PACK_PAGE } from './pack.js';

const OPEN = constants.O_RDWR | constants.O_NOFOLLOW | constants.O_NONBLOCK;
const BLOCK_UNIT = 512;

/** Removes nothing while a manifest cannot be read: nobody knows what it relies on. */
export function collectObjects(folder: string): void {
  const content = join(folder, CONTENT);
  const names = namesIn(content);
  if (names.length === 0) return;
  const { use, isComplete } = objectUse(folder);
  if (!isComplete) return;
  for (const name of names) {
    const object = objectBehind(name);
    if (object !== undefined && !use.has(object))
      rmSync(join(content, name), { recursive: true, force: true });
  }
  for (const [object, ranges] of use) {
    if (isPack(object) && names.includes(object)) punchGaps(join(content, object), ranges);
  }
}

/** The bytes that no other snapshot relies on. */
export function uniqueBytes(folder: string, id: string): number {
  const own = useOf([readPlaces(folder, id)]);
  const { use: others } = objectUse(folder, id);
  let bytes = 0;
  for (const [object, ranges] of own) {
    const other = others.get(object);
    if (other === undefined) bytes += isPack(object) ? ranges.length : roomOf(join(folder, CONTENT, object));
    else bytes += new ByteRanges([...ranges, ...other]).length - other.length;
  }
  return bytes;
}

/** A pack that another project has, too, stays as it is: nobody here knows what that one relies on. */
function punchGaps(path: string, used: ByteRanges): void {
  const fd = openSync(path, OPEN);
  try {
    const { nlink, size } = fstatSync(fd);
    if (nlink > 1) return;
    for (const gap of used.gaps(size)) {
      const start = Math.ceil(gap.start / PACK_PAGE) * PACK_PAGE;
      const end = gap.end === size ? size : Math.floor(gap.end / PACK_PAGE) * PACK_PAGE;
      if (end > start && !punchHole(fd, start, end - start)) return;
    }
  } finally {
    closeSync(fd);
  }
}

/** A file of its own has the holes of the file that it was. */
function roomOf(path: string): number {
  const found = lstatSync(path, { throwIfNoEntry: false });
  return found === undefined ? 0 : Math.min(found.size, found.blocks * BLOCK_UNIT);
}

/** None where there is no such folder, or a link to one, which is not ours. */
function namesIn(folder: string): string[] {
  const isThere = lstatSync(folder, { throwIfNoEntry: false })?.isDirectory() === true;
  return isThere ? readdirSync(folder) : [];
}
