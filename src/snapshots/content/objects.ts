/**
 * Objects are the files of a content store. A snapshot adds at most one pack, which holds the chunks of many files, and
 * clones, which share their blocks with files of the project. Here are their names, which bytes of them the snapshots
 * of a project use, and the removal of the rest. Runs in a worker thread.
 */
import { punchHole } from '../../base/disk/linux-files.js';
import {
  closeSync,
  constants,
  existsSync,
  fstatSync,
  lstatSync,
  openSync,
  readdirSync,
  rmSync,
} from 'node:fs';
import { join } from 'node:path';
import { Refusal } from '../../base/errors/errors.js';
import { ByteRanges, type ObjectRange } from './byte-ranges.js';
import { manifestIds, readPlaces } from './manifest.js';
import type { PlaceText } from './tree-text.js';

export const CONTENT = 'content';

/** Chunks begin at multiples of this in a pack, so that the blocks of each can be given back, or shared, by themselves. */
export const PACK_PAGE = 4096;

/** Every job that stores has an id of its own. */
const STORE_ID = /^[0-9a-z-]{1,64}$/;
const OBJECT = /^[0-9a-z-]{1,64}\.(pack|\d{1,9})$/;

export function isStoreId(id: string): boolean {
  return STORE_ID.test(id);
}

export function isObject(name: string): boolean {
  return OBJECT.test(name);
}

export function packOf(storeId: string): string {
  return `${storeId}.pack`;
}

export function isPack(object: string): boolean {
  return object.endsWith('.pack');
}

export function cloneOf(storeId: string, number: number): string {
  return `${storeId}.${number}`;
}

/** The index lies beside the pack and lists its chunks. Only the search for stored chunks needs it. */
export function indexOf(pack: string): string {
  return pack.replace(/pack$/, 'index');
}

/** The mark lies beside an object in which damage was found: nothing that is stored later relies on that object. */
export function damageMarkOf(object: string): string {
  return `${object}.damaged`;
}

/** The object that this file is, or lies beside; undefined if the name is none of the store's. */
export function objectBehind(name: string): string | undefined {
  const object = name.replace(/\.index$/, '.pack').replace(/\.damaged$/, '');
  return isObject(object) ? object : undefined;
}

/** The used ranges of objects, by the object's name. */
type ObjectUse = ReadonlyMap<string, ByteRanges>;

/** The use by all snapshots but `without`. It is complete if all their manifests can be read. */
export function objectUse(folder: string, without?: string): { use: ObjectUse; isComplete: boolean } {
  const places: PlaceText[] = [];
  let isComplete = true;
  for (const id of manifestIds(folder)) {
    if (id === without) continue;
    try {
      places.push(readPlaces(folder, id));
    } catch (error) {
      if (!(error instanceof Refusal)) throw error;
      isComplete = false;
    }
  }
  return { use: useOf(places), isComplete };
}

function useOf(places: readonly PlaceText[]): ObjectUse {
  const ranges = new Map<string, ObjectRange[]>();
  for (const { objects, extents } of places) {
    const ofObject = objects.map((object) => {
      const known = ranges.get(object) ?? [];
      ranges.set(object, known);
      return known;
    });
    for (const list of extents) {
      for (let at = 0; at < list.length; at += 4) {
        const [, length = 0, object = 0, start = 0] = list.slice(at, at + 4);
        ofObject[object]?.push({ start, end: start + length });
      }
    }
  }
  return new Map([...ranges].map(([object, list]) => [object, new ByteRanges(list)]));
}

/** Whether the object is a file with all bytes up to this end, and is not marked as damaged. */
export function isSound(folder: string, object: string, end: number): boolean {
  const path = join(folder, CONTENT, object);
  const found = lstatSync(path, { throwIfNoEntry: false });
  return found?.isFile() === true && found.size >= end && !existsSync(damageMarkOf(path));
}

const OPEN = constants.O_RDWR | constants.O_NOFOLLOW | constants.O_NONBLOCK;
const BLOCK_UNIT = 512;

/** Removes what no snapshot uses; nothing while a manifest cannot be read, since its use is not known. */
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

/** The bytes that no other snapshot uses. */
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

/** Skips a pack that a copy of the project shares (a hard link): its use of the pack is not known here. */
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

/** The room of a clone on the disk: it has the holes of the original. */
function roomOf(path: string): number {
  const found = lstatSync(path, { throwIfNoEntry: false });
  return found === undefined ? 0 : Math.min(found.size, found.blocks * BLOCK_UNIT);
}

/** None if there is no such folder; a link to one is not followed. */
function namesIn(folder: string): string[] {
  const isThere = lstatSync(folder, { throwIfNoEntry: false })?.isDirectory() === true;
  return isThere ? readdirSync(folder) : [];
}
