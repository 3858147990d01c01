/**
 * A tree of stored files as text, for manifests. The entries and the places of their content are separate lines, because
 * most readers need only the places. Pure.
 */
import type { ContentTree, Extent, StoredFile } from './content-tree.js';

/** The text is no tree. */
class BadText extends Error {}

/** The extents of one file, four numbers each: zeros before it, its length, the number of its object, its offset. */
type ExtentNumbers = readonly number[];
const NUMBERS = 4;
const LARGEST_MODE = 0o7777;
/** The earliest date of JavaScript: no earlier time can be set. */
const EARLIEST_MS = -8.64e15;

export interface PlaceText {
  readonly objects: readonly string[];
  readonly extents: readonly ExtentNumbers[];
}

export function entriesText({ folders, files, links }: ContentTree): string {
  return JSON.stringify({
    folders: folders.map(({ path, mode }) => [path, mode]),
    files: files.map(({ path, size, mode, modifiedMs, version, digest }) => [
      path,
      size,
      mode,
      modifiedMs,
      version,
      digest ?? null,
    ]),
    links: links.map(({ path, target }) => [path, target]),
  });
}

export function placesText({ files }: ContentTree): string {
  const numbers = new Map<string, number>();
  const extents = files.map((file) => {
    const list: number[] = [];
    let end = 0;
    for (const { position, length, object, offset } of file.extents) {
      const number = numbers.get(object) ?? numbers.size;
      numbers.set(object, number);
      list.push(position - end, length, number, offset);
      end = position + length;
    }
    return list;
  });
  return JSON.stringify({ objects: [...numbers.keys()], extents } satisfies PlaceText);
}

/** Throws `BadText`. */
export function parsePlaces(text: string): PlaceText {
  const value = record(JSON.parse(text));
  const objects = array(value['objects']).map(string);
  const extents = array(value['extents']).map((list) => array(list).map(count));
  for (const list of extents) {
    if (list.length % NUMBERS !== 0) throw new BadText('extents');
    for (let at = 2; at < list.length; at += NUMBERS) {
      if ((list[at] ?? 0) >= objects.length) throw new BadText('object');
    }
  }
  return { objects, extents };
}

/** Throws `BadText`, also if extents overlap or exceed their files. */
export function parseTree(entries: string, places: string): ContentTree {
  const value = record(JSON.parse(entries));
  const { objects, extents } = parsePlaces(places);
  const files = array(value['files']).map((entry, index): StoredFile => {
    const [path, size, mode, modifiedMs, version, digest] = array(entry);
    const file = {
      path: string(path),
      size: count(size),
      mode: permissions(mode),
      modifiedMs: time(modifiedMs),
      version: string(version),
      digest: digest === null ? undefined : string(digest),
      extents: extentsOf(extents[index] ?? [], objects),
    };
    const last = file.extents.at(-1);
    if (last !== undefined && last.position + last.length > file.size) throw new BadText('size');
    return file;
  });
  if (files.length !== extents.length) throw new BadText('files');
  return {
    folders: array(value['folders']).map((entry) => {
      const [path, mode] = array(entry);
      return { path: string(path), mode: permissions(mode) };
    }),
    files,
    links: array(value['links']).map((entry) => {
      const [path, target] = array(entry);
      return { path: string(path), target: string(target) };
    }),
  };
}

function extentsOf(numbers: ExtentNumbers, objects: readonly string[]): Extent[] {
  const extents: Extent[] = [];
  let end = 0;
  for (let at = 0; at < numbers.length; at += NUMBERS) {
    const [gap = 0, length = 0, object = 0, offset = 0] = numbers.slice(at, at + NUMBERS);
    if (length === 0) throw new BadText('length');
    if (!Number.isSafeInteger(offset + length)) throw new BadText('offset');
    extents.push({ position: end + gap, length, object: objects[object] ?? '', offset });
    end += gap + length;
  }
  return extents;
}

export function record(value: unknown): Record<string, unknown> {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) throw new BadText('object');
  return value as Record<string, unknown>;
}

function array(value: unknown): unknown[] {
  if (!Array.isArray(value)) throw new BadText('array');
  return value;
}

export function string(value: unknown): string {
  if (typeof value !== 'string') throw new BadText('text');
  return value;
}

function permissions(value: unknown): number {
  const mode = count(value);
  if (mode > LARGEST_MODE) throw new BadText('mode');
  return mode;
}

function time(value: unknown): number {
  if (typeof value !== 'number' || !Number.isFinite(value) || value < EARLIEST_MS) throw new BadText('time');
  return value;
}

/** A number of bytes or things: an integer from 0 on. */
export function count(value: unknown): number {
  if (typeof value !== 'number' || !Number.isSafeInteger(value) || value < 0) throw new BadText('number');
  return value;
}
