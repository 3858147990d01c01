/**
 * The directory of an archive that somebody else made: all of it is read and checked before anything is unpacked. Runs in
 * worker threads.
 */
import { fromRandomAccessReaderPromise, RandomAccessReader, type Entry } from 'yauzl';
import { refusals } from '../../base/errors/errors.js';
import { placeMember, type PlacedMember } from './directory-entry.js';
import { linkFault, type ZipMember } from './zip-member.js';
import { ReadWindow } from './read-window.js';
import { readSmallMember } from './zip-content.js';
import { type ArchiveRange, findZipEnd, type ZipEnd } from './zip-bounds.js';

export interface ZipLimits {
  readonly members: number;
  /** Of all content; the free space of the disk, say. */
  readonly bytes: number;
  /** How many bytes may come out of one byte of the archive, of a large member and of all together. */
  readonly ratio: number;
}

/**
 * Sparse images are honest and compress as well as anything can. Deflate makes at most 1,032 bytes of one, so that no
 * archive of the usual compression is refused for it that does not lie; what comes out of the others is bounded.
 */
export const USUAL_RATIO = 1100;
export const USUAL_MEMBERS = 500_000;

export interface ZipArchive {
  readonly fd: number;
  /** In the order of the archive's directory. */
  readonly members: readonly ZipMember[];
  /** Of all content. */
  readonly bytes: number;
}

/** What is shorter may compress as well as it likes. */
const SMALL = 64 * 1024 * 1024;
const ENTRY_LENGTH = 46;
/** It is held in memory as a whole, as members. Half a million of them with names of 200 bytes. */
const LONGEST_DIRECTORY = 128 * 1024 * 1024;
const LONGEST_LINK = 4096;

/** Refuses (409) what is no whole archive, and what must not be unpacked. */
export async function openZip(fd: number, range: ArchiveRange, limits: ZipLimits): Promise<ZipArchive> {
  const end = findZipEnd(fd, range);
  if (end === undefined) throw refusals.importNoArchive();
  checkEnd(end, limits);
  const placed = await readDirectory(fd, range, end, limits);
  checkOverlaps(placed);
  const members = placed.map(({ member }) => member);
  checkTree(members);
  for (const member of members) {
    if (member.kind === 'link') await checkLink(fd, member);
  }
  return { fd, members, bytes: total(members.map(({ size }) => size)) };
}

function checkEnd({ isPart, count, directory }: ZipEnd, limits: ZipLimits): void {
  if (isPart) throw refusals.importArchiveRefused('it is one of several parts of an archive');
  if (count > limits.members) {
    throw refusals.importArchiveRefused(`it has ${count} members, and at most ${limits.members} are allowed`);
  }
  if (directory.end - directory.start > LONGEST_DIRECTORY) {
    throw refusals.importArchiveRefused(`its directory is longer than ${LONGEST_DIRECTORY} bytes`);
  }
}

async function readDirectory(
  fd: number,
  { end: fileEnd }: ArchiveRange,
  end: ZipEnd,
  limits: ZipLimits,
): Promise<PlacedMember[]> {
  const headers = new ReadWindow(fd, end.directory.start);
  const budget = new Budget(limits);
  const placed: PlacedMember[] = [];
  let position = end.directory.start;
  for await (const entry of directoryEntries(fd, fileEnd, end.base)) {
    // Names are left as they are, because their faults are told in words of our own.
    const octets = entry.fileNameRaw;
    position += ENTRY_LENGTH + entry.fileNameLength + entry.extraFieldLength + entry.fileCommentLength;
    const found = placeMember(entry, octets, end, headers);
    budget.take(found.member);
    placed.push(found);
  }
  if (position !== end.directory.end) throw refusals.importNoArchive();
  budget.finish();
  return placed;
}

/** Whatever the library takes offence at is damage of the directory as a whole. */
async function* directoryEntries(fd: number, fileEnd: number, base: number): AsyncGenerator<Entry> {
  const reader = new ArchiveReader(fd, base, fileEnd);
  const options = { decodeStrings: false, validateEntrySizes: false, lazyEntries: true };
  const zip = await fromRandomAccessReaderPromise(reader, fileEnd - base, options).catch(noArchive);
  const entries = zip.eachEntry();
  for (;;) {
    const step = await entries.next().catch(noArchive);
    if (step.done === true) return;
    yield step.value;
  }
}

function noArchive(error: unknown): never {
  // What the system says is no fault of the archive.
  throw error instanceof Error && 'syscall' in error ? error : refusals.importNoArchive();
}

class ArchiveReader extends RandomAccessReader {
  readonly #window: ReadWindow;
  readonly #base: number;

  constructor(fd: number, base: number, end: number) {
    super();
    this.#window = new ReadWindow(fd, end);
    this.#base = base;
  }

  override read(
    buffer: Buffer,
    offset: number,
    length: number,
    position: number,
    done: (error: Error | null, length?: number) => void,
  ): void {
    done(null, this.#window.read(this.#base + position, length).copy(buffer, offset));
  }
}

/** What all members together may take. */
class Budget {
  readonly #limits: ZipLimits;
  #bytes = 0;
  #compressed = 0;

  constructor(limits: ZipLimits) {
    this.#limits = limits;
  }

  take({ path, size, compressedSize }: ZipMember): void {
    this.#bytes += size;
    this.#compressed += compressedSize;
    if (this.#isSuspicious(size, compressedSize)) {
      throw refusals.importRefused(
        path,
        `${size} bytes would come out of ${compressedSize}: no file is like that`,
      );
    }
    if (this.#bytes > this.#limits.bytes) {
      throw refusals.importRefused(
        path,
        `with it the content is longer than the ${this.#limits.bytes} bytes that there is room for`,
      );
    }
  }

  finish(): void {
    if (!this.#isSuspicious(this.#bytes, this.#compressed)) return;
    throw refusals.importArchiveRefused(
      `${this.#bytes} bytes would come out of ${this.#compressed}: no project is like that`,
    );
  }

  #isSuspicious(size: number, compressedSize: number): boolean {
    return size > SMALL && size > compressedSize * this.#limits.ratio;
  }
}

/** What several members share would come out several times: the smallest bombs are made so. */
function checkOverlaps(placed: readonly PlacedMember[]): void {
  const inOrder = [...placed].sort((a, b) => a.start - b.start);
  let end = 0;
  for (const { member, start, end: memberEnd } of inOrder) {
    if (start < end) throw refusals.importRefused(member.path, 'it overlaps another member of the archive');
    end = memberEnd;
  }
}

/** No two of one path, and nothing below what is no folder. */
function checkTree(members: readonly ZipMember[]): void {
  // With the slash before everything else, what lies below a path comes right behind it. No name has that character.
  const keys = members.map(({ path, kind }) => ({ key: path.replaceAll('/', '\0'), kind }));
  keys.sort((a, b) => (a.key < b.key ? -1 : 1));
  let last = keys[0];
  for (const next of keys.slice(1)) {
    if (last?.key === next.key) throw refusals.importRefused(pathOf(next.key), 'it is there twice');
    if (last !== undefined && last.kind !== 'folder' && next.key.startsWith(`${last.key}\0`)) {
      throw refusals.importRefused(
        pathOf(next.key),
        `it lies below '${pathOf(last.key)}', which is a ${last.kind}`,
      );
    }
    last = next;
  }
}

function pathOf(key: string): string {
  return key.replaceAll('\0', '/');
}

async function checkLink(fd: number, member: ZipMember): Promise<void> {
  const target = await readSmallMember(fd, member, LONGEST_LINK);
  const fault = linkFault(member.path, target.toString());
  if (fault !== undefined) throw refusals.importRefused(member.path, fault);
}

function total(sizes: readonly number[]): number {
  return sizes.reduce((sum, size) => sum + size, 0);
}
