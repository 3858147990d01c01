/**
 * Reads the directory of an archive that somebody else made, and checks all of it before anything is unpacked. Runs in
 * worker threads.
 */
import { fromRandomAccessReaderPromise, RandomAccessReader, type Entry } from 'yauzl';
import { refusals } from '../../base/errors/errors.js';
import { placeMember, type PlacedMember } from './directory-entry.js';
import { linkFault, type ZipMember } from './zip-member.js';
import { ReadWindow } from './read-window.js';
import { readSmallMember } from './zip-content.js';
import { findZipEnd, type ArchiveRange, type ZipEnd } from './zip-bounds.js';

export interface ZipLimits {
  readonly members: number;
  /** The most bytes of content; the free space of the disk, for instance. */
  readonly bytes: number;
  /** How many bytes one byte of the archive may become, in a large member and in all members together. */
  readonly ratio: number;
}

/**
 * Honest archives of sparse images reach the highest ratio that Deflate has, 1,032 to 1. This limit accepts all of them,
 * and bounds the output of the other compressions.
 */
export const USUAL_RATIO = 1100;

export interface ZipArchive {
  readonly fd: number;
  /** In the order of the directory. */
  readonly members: readonly ZipMember[];
  /** The length of all content. */
  readonly bytes: number;
}

/** Shorter content may have any ratio. */
const SMALL = 64 * 1024 * 1024;
const ENTRY_LENGTH = 46;
/** Half a million members with names of 200 bytes: all members are held in memory. */
const LONGEST_DIRECTORY = 128 * 1024 * 1024;
const LONGEST_LINK = 4096;

/** Refuses (409) a file that is no whole archive, and an archive that must not be unpacked. */
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
    // Names are not decoded here, because placeMember refuses bad ones in words of its own.
    const rawName = entry.fileNameRaw;
    position += ENTRY_LENGTH + entry.fileNameLength + entry.extraFieldLength + entry.fileCommentLength;
    const found = placeMember(entry, rawName, end, headers);
    budget.take(found.member);
    placed.push(found);
  }
  if (position !== end.directory.end) throw refusals.importNoArchive();
  budget.finish();
  return placed;
}

/** Everything that the library objects to counts as damage of the whole directory. */
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
  // An error of the system is no fault of the archive.
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

/** Adds up the members, and refuses those that exceed the limits. */
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

/** Members that share bytes would be unpacked several times: the smallest zip bombs work like that. */
function checkOverlaps(placed: readonly PlacedMember[]): void {
  const inOrder = [...placed].sort((a, b) => a.start - b.start);
  let end = 0;
  for (const { member, start, end: memberEnd } of inOrder) {
    if (start < end) throw refusals.importRefused(member.path, 'it overlaps another member of the archive');
    end = memberEnd;
  }
}

/** Refuses two members of one path, and a member below one that is no folder. */
function checkTree(members: readonly ZipMember[]): void {
  // NUL sorts before all else, so the members below a path come right behind it. No accepted name has NUL.
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
