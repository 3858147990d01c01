/**
 * Manifests: one file for each snapshot, of four lines. The first is the head, from which lists are made; then come the
 * topology, the entries of the tree, and where their content lies. Runs in a worker thread.
 */
import { createHash } from 'node:crypto';
import { closeSync, readdirSync, readSync, unlinkSync } from 'node:fs';
import { join } from 'node:path';
import { Refusal, refusals } from '../../base/errors/errors.js';
import { publishBytes, syncFolder } from '../../base/disk/published-file.js';
import { openRegularFile, readRegularFile } from '../../base/disk/regular-file.js';
import { checkTree, type ContentTree } from './content-tree.js';
import {
  count,
  entriesText,
  parsePlaces,
  parseTree,
  placesText,
  record,
  string,
  type PlaceText,
} from './tree-text.js';

export interface ManifestHead {
  readonly format: 1;
  /** The snapshot as clients see it; its `snapshot_id` is in the file's name. */
  readonly snapshot: Readonly<Record<string, unknown>>;
  /** The length of all files. */
  readonly size: number;
  /** The number of files. */
  readonly files: number;
  /** The bytes that the store has grown by. */
  readonly added: number;
  /** SHA-256 of everything behind it in the file, including the rest of the head. */
  readonly digest: string;
  readonly counts: Readonly<Record<string, number>>;
  /** Whether the digest of every file is known. */
  readonly isSealed: boolean;
}

export interface Manifest {
  readonly head: ManifestHead;
  readonly topology: unknown;
  readonly tree: ContentTree;
}

type NewHead = Omit<ManifestHead, 'format' | 'digest'>;

const WORK = '.work';

const NAME = /^([0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12})\.manifest$/;
const LONGEST_HEAD = 64 * 1024;
const LARGEST = 512 * 1024 * 1024;
const LINES = 4;
const BEFORE_DIGEST = '{"digest":"';
const DIGEST_DIGITS = 64;

export function manifestName(id: string): string {
  return `${id}.manifest`;
}

/** The heads that can be read, and the names of the files whose heads cannot. */
export function listHeads(folder: string): { heads: ManifestHead[]; damaged: string[] } {
  const heads: ManifestHead[] = [];
  const damaged: string[] = [];
  for (const name of manifestNames(folder)) {
    try {
      heads.push(parseHead(readBeginning(join(folder, name)), idOf(name)));
    } catch {
      damaged.push(name);
    }
  }
  return { heads, damaged };
}

/** The ids of all manifests, readable or not. */
export function manifestIds(folder: string): string[] {
  return manifestNames(folder).map(idOf);
}

/** Refuses (404) an unknown id, and (409) a damaged manifest. */
export function readManifest(folder: string, id: string): Manifest {
  return readLines(folder, id, ([head, topology, entries, places]) => {
    const tree = parseTree(entries, places);
    checkTree(tree);
    return { head: parseHead(head, id), topology: JSON.parse(topology) as unknown, tree };
  });
}

/** Reads only where the content lies. */
export function readPlaces(folder: string, id: string): PlaceText {
  return readLines(folder, id, ([, , , places]) => parsePlaces(places));
}

/** Writes the manifest, or replaces the one of the same id; the disk has it afterwards. */
export function publishManifest(
  folder: string,
  head: NewHead,
  topology: unknown,
  tree: ContentTree,
): ManifestHead {
  const id = String(head.snapshot['snapshot_id']);
  const name = manifestName(id);
  if (!NAME.test(name)) throw refusals.snapshotUnknown(id);
  const rest = [
    `",${JSON.stringify({ format: 1, ...head }).slice(1)}\n`,
    `${JSON.stringify(topology ?? null)}\n`,
    `${entriesText(tree)}\n`,
    `${placesText(tree)}\n`,
  ].map((line) => Buffer.from(line));
  const hash = createHash('sha256');
  for (const line of rest) hash.update(line);
  const digest = hash.digest('hex');
  const bytes = Buffer.concat([Buffer.from(BEFORE_DIGEST + digest), ...rest]);
  publishBytes(join(folder, WORK), join(folder, name), bytes);
  return { format: 1, ...head, digest };
}

/** Returns false if there was none. */
export function removeManifest(folder: string, id: string): boolean {
  const name = manifestName(id);
  if (!NAME.test(name)) return false;
  try {
    unlinkSync(join(folder, name));
  } catch (error) {
    if (isMissing(error)) return false;
    throw error;
  }
  syncFolder(folder);
  return true;
}

function manifestNames(folder: string): string[] {
  try {
    return readdirSync(folder)
      .filter((name) => NAME.test(name))
      .sort();
  } catch (error) {
    if (isMissing(error)) return [];
    throw error;
  }
}

function idOf(name: string): string {
  return NAME.exec(name)?.[1] ?? '';
}

type Lines = readonly [head: string, topology: string, entries: string, places: string];

function readLines<Result>(folder: string, id: string, read: (lines: Lines) => Result): Result {
  const name = manifestName(id);
  if (!NAME.test(name)) throw refusals.snapshotUnknown(id);
  let bytes: Buffer;
  try {
    bytes = readRegularFile(join(folder, name), LARGEST);
  } catch (error) {
    if (isMissing(error)) throw refusals.snapshotUnknown(id);
    throw isInPlace(error) ? damagedManifest(name) : error;
  }
  const start = BEFORE_DIGEST.length + DIGEST_DIGITS;
  const digest = createHash('sha256').update(bytes.subarray(start)).digest('hex');
  if (bytes.toString('latin1', 0, start) !== BEFORE_DIGEST + digest) throw damagedManifest(name);
  try {
    return read(linesOf(bytes));
  } catch (error) {
    // The digest is right, so this server did not write it.
    throw error instanceof Refusal ? error : damagedManifest(name);
  }
}

function linesOf(bytes: Buffer): Lines {
  const lines: string[] = [];
  for (let start = 0; start < bytes.length && lines.length <= LINES;) {
    const end = bytes.indexOf('\n', start);
    lines.push(bytes.toString('utf8', start, end));
    start = end < 0 ? bytes.length : end + 1;
  }
  const [head, topology, entries, places] = lines;
  if (head === undefined || topology === undefined || entries === undefined || places === undefined) {
    throw new Error('there are fewer lines');
  }
  return [head, topology, entries, places];
}

function readBeginning(path: string): string {
  const { fd } = openRegularFile(path);
  try {
    const bytes = Buffer.alloc(LONGEST_HEAD);
    const text = bytes.toString('utf8', 0, readSync(fd, bytes, 0, bytes.length, 0));
    return text.slice(0, text.indexOf('\n'));
  } finally {
    closeSync(fd);
  }
}

/** Throws if the line is no head. */
function parseHead(line: string, id: string): ManifestHead {
  const head = record(JSON.parse(line));
  const snapshot = record(head['snapshot']);
  const { isSealed, format } = head;
  if (format !== 1 || typeof isSealed !== 'boolean' || snapshot['snapshot_id'] !== id) {
    throw new Error('this is no head');
  }
  return {
    format,
    snapshot,
    size: count(head['size']),
    files: count(head['files']),
    added: count(head['added']),
    digest: string(head['digest']),
    counts: Object.fromEntries(
      Object.entries(record(head['counts'])).map(([key, value]) => [key, count(value)]),
    ),
    isSealed,
  };
}

function damagedManifest(name: string): Error {
  return refusals.snapshotDamaged(`${name} is not what was written`);
}

/** Whether the name is taken by something other than a file; for a link, the system says ELOOP. */
function isInPlace(error: unknown): boolean {
  return error instanceof Refusal || (error instanceof Error && 'code' in error && error.code === 'ELOOP');
}

function isMissing(error: unknown): boolean {
  return error instanceof Error && 'code' in error && error.code === 'ENOENT';
}
