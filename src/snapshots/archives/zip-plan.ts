/**
 * The plan of a zip archive: a file with one member per line, in the order of the archive. There may be many members,
 * so only the path of the plan goes from thread to thread. It is written once and never changed. The central directory
 * grows in a file beside it. Runs in worker threads.
 */
import { readOnlyWhatIsAskedFor } from '../../base/disk/linux-files.js';
import { closeSync, openSync, readSync, rmSync, writeSync } from 'node:fs';
import { resolve } from 'node:path';
import { getSystemErrorMap } from 'node:util';
import type { StoredFile } from '../content/content-tree.js';
import { isBelow } from '../../base/disk/path-order.js';
import { readStored } from '../content/stored-reading.js';
import { openRegularFile } from '../../base/disk/regular-file.js';

export type PlannedContent =
  | { readonly text: string }
  /** A regular file that does not change. */
  | { readonly file: PlannedPath }
  /** A file of a content store, and the folder of the store's objects. */
  | { readonly stored: StoredFile; readonly content: PlannedPath }
  /** Another plan: an archive within the archive. */
  | { readonly archive: PlannedPath };

/** A path below one of the `PlanRoots`: a plan leads nowhere else. */
export interface PlannedPath {
  readonly root: string;
  readonly path: string;
}

/** Absolute paths of folders, by their names in plans. */
export type PlanRoots = Readonly<Record<string, string>>;

export interface PlannedMember {
  /** With slashes; the path of a folder has no slash at its end. */
  readonly path: string;
  readonly kind: 'file' | 'folder' | 'link';
  /** The permissions. */
  readonly mode: number;
  readonly modifiedMs: number;
  /** The content of a link is the text of its target. */
  readonly content?: PlannedContent;
  /** The size of a file's content; unused for text and archives. */
  readonly size: number;
  /** For a file: identifies its content. */
  readonly version?: string;
}

/** A member, and the position of the next one in the plan. */
interface PlanLine {
  readonly member: PlannedMember;
  readonly next: number;
}

const BLOCK = 64 * 1024;
const NEW_LINE = 0x0a;
const KINDS: readonly unknown[] = ['file', 'folder', 'link'] satisfies PlannedMember['kind'][];
const LONGEST_PATH = 65_534;

/** Returns the absolute path. */
export function plannedPath(roots: PlanRoots, { root, path }: PlannedPath): string {
  const folder = Object.hasOwn(roots, root) ? roots[root] : undefined;
  const full = folder === undefined ? undefined : resolve(folder, path);
  if (folder === undefined || full === undefined || !isBelow(folder, full))
    throw new RangeError('the plan of the archive leads out of its folders');
  return full;
}

export function writePlan(path: string, members: Iterable<PlannedMember>): void {
  const fd = openSync(path, 'wx', 0o600);
  try {
    let waiting = '';
    for (const member of members) {
      waiting += `${JSON.stringify(member)}\n`;
      if (waiting.length < BLOCK) continue;
      writeWhole(fd, waiting);
      waiting = '';
    }
    writeWhole(fd, waiting);
  } finally {
    closeSync(fd);
  }
}

/** The last long line that this thread has read: parsing the line of a file in many pieces takes long, and each part of it needs it. */
let lastLong: { readonly path: string; readonly start: number; readonly line: PlanLine } | undefined;

export class PlanReader {
  readonly #path: string;
  readonly #fd: number;
  /** The position in the plan of the first byte of `#known`. */
  #position: number;
  #known = Buffer.alloc(0);

  constructor(path: string, position: number) {
    this.#path = path;
    this.#position = position;
    this.#fd = openSync(path, 'r');
  }

  /** Undefined at the end. */
  next(): PlanLine | undefined {
    if (lastLong?.path === this.#path && lastLong.start === this.#position) {
      return this.#tell(lastLong.line);
    }
    const text = this.#line();
    if (text === undefined) return undefined;
    const member = plannedMember(text.toString());
    const line = { member, next: this.#position + text.length + 1 };
    if (text.length > BLOCK) lastLong = { path: this.#path, start: this.#position, line };
    return this.#tell(line);
  }

  close(): void {
    closeSync(this.#fd);
  }

  #tell(line: PlanLine): PlanLine {
    this.#known = this.#known.subarray(line.next - this.#position);
    this.#position = line.next;
    return line;
  }

  #line(): Buffer | undefined {
    for (let searched = 0; ;) {
      const end = this.#known.indexOf(NEW_LINE, searched);
      if (end >= 0) return this.#known.subarray(0, end);
      searched = this.#known.length;
      if (this.#grow() > 0) continue;
      if (searched > 0) throw new Error('the plan of the archive is cut off');
      return undefined;
    }
  }

  /** Doubles the known bytes, so that a long line is copied few times. */
  #grow(): number {
    const more = Buffer.allocUnsafeSlow(Math.max(BLOCK, this.#known.length));
    const count = readSync(this.#fd, more, 0, more.length, this.#position + this.#known.length);
    const added = more.subarray(0, count);
    this.#known = this.#known.length === 0 ? added : Buffer.concat([this.#known, added]);
    return count;
  }
}

/** Checks as much as the making of an archive relies on. Throws when the plan is damaged. */
function plannedMember(line: string): PlannedMember {
  let value: unknown;
  try {
    value = JSON.parse(line);
  } catch {
    value = undefined;
  }
  if (!isMember(value)) throw new Error('the plan of the archive is damaged');
  return value;
}

function isMember(value: unknown): value is PlannedMember {
  if (!isRecord(value)) return false;
  const { path, kind, mode, modifiedMs, content, size, version } = value;
  const isNamed = typeof path === 'string' && Buffer.byteLength(path) <= LONGEST_PATH && KINDS.includes(kind);
  // In JSON, a time that is not a number is null.
  const hasTime = typeof modifiedMs === 'number' || modifiedMs === null;
  const hasVersion = version === undefined || typeof version === 'string';
  return (
    isNamed &&
    hasTime &&
    hasVersion &&
    isCount(mode) &&
    isCount(size) &&
    (content === undefined || isContent(content))
  );
}

function isContent(value: unknown): value is PlannedContent {
  if (!isRecord(value)) return false;
  if ('text' in value) return typeof value['text'] === 'string';
  if ('archive' in value) return isPath(value['archive']);
  return 'stored' in value ? isStored(value['stored']) && isPath(value['content']) : isPath(value['file']);
}

function isPath(value: unknown): value is PlannedPath {
  if (!isRecord(value)) return false;
  const { root, path } = value;
  return typeof root === 'string' && typeof path === 'string' && !path.includes('\0');
}

function isStored(value: unknown): boolean {
  if (!isRecord(value)) return false;
  const { path, size, extents } = value;
  return typeof path === 'string' && isCount(size) && Array.isArray(extents) && extents.every(isExtent);
}

function isExtent(value: unknown): boolean {
  if (!isRecord(value)) return false;
  const { position, length, object, offset } = value;
  return (
    isCount(position) &&
    isCount(length) &&
    isCount(offset) &&
    isCount(offset + length) &&
    typeof object === 'string'
  );
}

function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null;
}

function isCount(value: unknown): value is number {
  return typeof value === 'number' && Number.isSafeInteger(value) && value >= 0;
}

function writeWhole(fd: number, text: string): void {
  const bytes = Buffer.from(text);
  for (let done = 0; done < bytes.length;) done += writeSync(fd, bytes, done);
}

/** The content that this thread has read last; each read overwrites it. */
let room = Buffer.alloc(0);

/** Undefined for an archive, whose size is not known before it is made. */
export function contentSize({ kind, content, size }: PlannedMember): number | undefined {
  if (kind === 'folder' || content === undefined) return 0;
  if ('text' in content) return Buffer.byteLength(content.text);
  return 'archive' in content ? undefined : size;
}

/**
 * Reads this many bytes from this position on; fewer where the content ends. They are valid until the next call. No file
 * stays open, so another thread can read the next bytes.
 */
export function readContent(
  { content }: PlannedMember,
  roots: PlanRoots,
  position: number,
  length: number,
): Buffer {
  if (content === undefined || 'archive' in content) return Buffer.alloc(0);
  if ('text' in content) return Buffer.from(content.text).subarray(position, position + length);
  if ('stored' in content)
    return readStored(plannedPath(roots, content.content), content.stored, position, length);
  return readFile(plannedPath(roots, content.file), position, length);
}

/** The version of the file that has the content now; undefined for content that never changes. */
export function versionNow({ content }: PlannedMember, roots: PlanRoots): string | undefined {
  if (content === undefined || !('file' in content)) return undefined;
  const { fd, version } = openRegularFile(plannedPath(roots, content.file));
  closeSync(fd);
  return version;
}

/** The reason in words, for a warning. */
export function unreadableBecause(error: unknown): string {
  const isSystemError = error instanceof Error && 'errno' in error && typeof error.errno === 'number';
  // Not the message itself: it names a path of this host.
  const [, text] = (isSystemError ? getSystemErrorMap().get(Number(error.errno)) : undefined) ?? [];
  return text ?? (error instanceof Error ? error.message : String(error));
}

function readFile(path: string, position: number, length: number): Buffer {
  const { fd } = openRegularFile(path);
  try {
    readOnlyWhatIsAskedFor(fd);
    if (room.length < length) room = Buffer.allocUnsafeSlow(length);
    let done = 0;
    for (let count = -1; count !== 0 && done < length; done += count) {
      count = readSync(fd, room, done, length - done, position + done);
    }
    return room.subarray(0, done);
  } finally {
    closeSync(fd);
  }
}

/** The central directory of an archive that is being made. */
export class DirectoryFile {
  readonly #path: string;

  constructor(plan: string) {
    this.#path = `${plan}.directory`;
  }

  /** Writing at position 0 empties the file, which an unfinished archive may have left. */
  keep(records: Buffer, position: number): void {
    const fd = openSync(this.#path, position === 0 ? 'w' : 'r+', 0o600);
    try {
      for (let done = 0; done < records.length;)
        done += writeSync(fd, records, done, records.length - done, position + done);
    } finally {
      closeSync(fd);
    }
  }

  /** Returns at least one byte, at most `length`. */
  read(position: number, length: number): Buffer {
    const fd = openSync(this.#path, 'r');
    try {
      const records = Buffer.allocUnsafe(length);
      const count = readSync(fd, records, 0, length, position);
      if (count === 0) throw new Error('the directory of the archive is cut off');
      return records.subarray(0, count);
    } finally {
      closeSync(fd);
    }
  }

  remove(): void {
    rmSync(this.#path, { force: true });
  }
}
