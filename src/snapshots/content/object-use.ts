/** Which bytes of which objects the snapshots of a project rely on. Runs in a worker thread. */
import { existsSync, lstatSync } from 'node:fs';
import { join } from 'node:path';
import { Refusal } from '../../base/errors/errors.js';
import { ByteRanges, type ByteRange } from './byte-ranges.js';
import { manifestIds, readPlaces } from './manifest.js';
import { CONTENT, damageMarkOf } from './object-name.js';
import type { PlaceText } from './tree-text.js';

export type ObjectUse = ReadonlyMap<string, ByteRanges>;

/** Of all snapshots but this one whose manifests can be read; it is complete when they all can. */
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

export function useOf(places: readonly PlaceText[]): ObjectUse {
  const ranges = new Map<string, ByteRange[]>();
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

/** Whether nothing is known against the object's having all bytes up to this end. */
export function isSound(folder: string, object: string, end: number): boolean {
  const path = join(folder, CONTENT, object);
  const found = lstatSync(path, { throwIfNoEntry: false });
  return found?.isFile() === true && found.size >= end && !existsSync(damageMarkOf(path));
}
