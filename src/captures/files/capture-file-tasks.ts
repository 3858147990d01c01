/** Work on the capture files of a project. Runs in a file thread. */
import {
  chmodSync,
  closeSync,
  lstatSync,
  readdirSync,
  readSync,
  statSync,
  truncateSync,
  unlinkSync,
} from 'node:fs';
import { join } from 'node:path';
import type { TaskTable } from '../../base/threads/task.js';
import { containedPath } from '../../base/disk/containment.js';
import { openRegularFile, versionOf } from '../../base/disk/regular-file.js';
import {
  countPackets,
  readCaptureHead,
  UNFINISHED_BIT,
  type CaptureHead,
  type FileOctets,
  type PacketSpan,
} from '../../engine/wire/capture-file.js';
import { PCAP_HEADER_LENGTH } from '../../engine/wire/pcap.js';
import { CAPTURES } from '../../lab/projects/folder-layout.js';

export interface CaptureFacts extends CaptureHead {
  readonly name: string;
  readonly size: number;
  readonly modifiedMs: number;
  /** Identifies this content of this file. */
  readonly version: string;
}

/** The packets in a file, as long as it is of this version. */
export interface CountedFile {
  readonly name: string;
  readonly version: string;
  readonly span: PacketSpan;
}

/** The packets that a capture has recorded before it goes on. */
export interface EarlierPart extends Omit<PacketSpan, 'end'> {
  /** The file that it goes on in: its first bytes, and where its last complete record ends. */
  readonly file: { readonly header: Uint8Array; readonly end: number } | undefined;
}

export interface CaptureFileTasks extends TaskTable {
  /** Sorted by name; empty for a project without a captures folder. */
  readonly listCaptures: (input: { root: string }) => CaptureFacts[];
  /** Reads the whole file. */
  readonly countCapture: (input: { root: string; name: string }) => PacketSpan;
  /** Cuts off records that are incomplete because the server was killed. Returns what it has counted. No capture may be running. */
  readonly mendCaptures: (input: { root: string }) => CountedFile[];
  /** Counts the packets of a capture that goes on. Its files are one, or a ring with the youngest first, and may be missing. */
  readonly findEarlierPart: (input: {
    root: string;
    names: readonly string[];
    format: CaptureHead['format'];
    /** The bytes that a new file would begin with. */
    header: Uint8Array;
    /** Files that need not be read again. */
    counted: readonly CountedFile[];
  }) => EarlierPart;
  /** Deletes the files that are still of this version; returns the names of the deleted ones. */
  readonly removeCaptures: (input: {
    root: string;
    files: readonly Pick<CaptureFacts, 'name' | 'version'>[];
  }) => string[];
  /** How many bytes the files in a folder take, without those of the names in `except`. The folder may be missing. */
  readonly measureUsage: (input: { folder: string; except: readonly string[] }) => number;
}

/** How much of a file is read to find out its format. */
const HEAD_LENGTH = 16 * 1024;
const WINDOW_LENGTH = 1024 * 1024;
const FINISHED_MODE = 0o644;

export const captureFileTasks: CaptureFileTasks = {
  listCaptures({ root }) {
    const folder = captureFolder(root);
    if (folder === undefined) return [];
    return readdirSync(folder, { withFileTypes: true })
      .filter((entry) => entry.isFile())
      .map(({ name }) => name)
      .sort()
      .flatMap((name) => factsOf(folder, name) ?? []);
  },

  countCapture({ root, name }) {
    const { fd, size } = openRegularFile(containedPath(root, join(CAPTURES, name)));
    try {
      return countPackets(new FileWindow(fd, size, WINDOW_LENGTH));
    } finally {
      closeSync(fd);
    }
  },

  mendCaptures({ root }) {
    const folder = captureFolder(root);
    if (folder === undefined) return [];
    return readdirSync(folder, { withFileTypes: true })
      .filter((entry) => entry.isFile() && (lstatSync(join(folder, entry.name)).mode & UNFINISHED_BIT) !== 0)
      .map(({ name }) => ({ name, ...mend(join(folder, name)) }));
  },

  findEarlierPart({ root, names, format, header, counted }) {
    const folder = captureFolder(root);
    const parts = names.flatMap((name) => {
      if (folder === undefined) return [];
      const known = counted.find((file) => file.name === name);
      return earlierPart(join(folder, name), format, header, known) ?? [];
    });
    return {
      packets: sum(parts.map(({ packets }) => packets)),
      octets: sum(parts.map(({ octets }) => octets)),
      firstAt: parts.findLast(({ firstAt }) => firstAt !== null)?.firstAt ?? null,
      lastAt: parts.find(({ lastAt }) => lastAt !== null)?.lastAt ?? null,
      file: names.length === 1 ? parts[0]?.file : undefined,
    };
  },

  removeCaptures({ root, files }) {
    const folder = captureFolder(root);
    if (folder === undefined) return [];
    const gone = files.filter(({ name, version }) => {
      const path = join(folder, name);
      const found = lstatSync(path, { bigint: true, throwIfNoEntry: false });
      if (found?.isFile() !== true || versionOf(found) !== version) return false;
      unlinkSync(path);
      return true;
    });
    return gone.map(({ name }) => name);
  },

  measureUsage({ folder, except }) {
    if (statSync(folder, { throwIfNoEntry: false })?.isDirectory() !== true) return 0;
    let bytes = 0;
    for (const entry of readdirSync(folder, { withFileTypes: true })) {
      if (!entry.isFile() || except.includes(entry.name)) continue;
      // It may be deleted meanwhile.
      bytes += statSync(join(folder, entry.name), { throwIfNoEntry: false })?.size ?? 0;
    }
    return bytes;
  },
};

function captureFolder(root: string): string | undefined {
  try {
    const folder = containedPath(root, CAPTURES);
    return lstatSync(folder).isDirectory() ? folder : undefined;
  } catch (error) {
    if (isMissing(error)) return undefined;
    throw error;
  }
}

/** Undefined for a file that has gone meanwhile, or cannot be read. */
function factsOf(folder: string, name: string): CaptureFacts | undefined {
  let fd: number | undefined;
  try {
    const { fd: opened, ...found } = openRegularFile(join(folder, name));
    fd = opened;
    const head = readCaptureHead(new FileWindow(fd, Math.min(found.size, HEAD_LENGTH), HEAD_LENGTH));
    return { name, ...found, ...head };
  } catch {
    return undefined;
  } finally {
    if (fd !== undefined) closeSync(fd);
  }
}

/** Undefined for a file that is missing, cannot be read, or is not of this capture any more. */
function earlierPart(
  path: string,
  format: CaptureHead['format'],
  header: Uint8Array,
  counted: CountedFile | undefined,
): EarlierPart | undefined {
  let fd: number | undefined;
  try {
    const { fd: opened, size, version } = openRegularFile(path);
    fd = opened;
    const window = new FileWindow(fd, size, WINDOW_LENGTH);
    if (readCaptureHead(window).format !== format) return undefined;
    const isCounted = counted?.version === version;
    const { end, ...span } = isCounted ? counted.span : countPackets(window);
    const first = window.at(0, PCAP_HEADER_LENGTH);
    const begun = Uint8Array.from({ length: PCAP_HEADER_LENGTH }, (_, at) => first.getUint8(at));
    const isOurs = format === 'pcapng' || Buffer.compare(begun, header) === 0;
    return isOurs && end >= begun.length ? { ...span, file: { header: begun, end } } : undefined;
  } catch {
    return undefined;
  } finally {
    if (fd !== undefined) closeSync(fd);
  }
}

function sum(numbers: readonly number[]): number {
  return numbers.reduce((total, number) => total + number, 0);
}

function mend(path: string): Omit<CountedFile, 'name'> {
  const { fd, size } = openRegularFile(path);
  let span: PacketSpan;
  try {
    span = countPackets(new FileWindow(fd, size, WINDOW_LENGTH));
  } finally {
    closeSync(fd);
  }
  if (span.end < size) truncateSync(path, span.end);
  chmodSync(path, FINISHED_MODE);
  return { version: versionOf(lstatSync(path, { bigint: true })), span };
}

function isMissing(error: unknown): boolean {
  return error instanceof Error && 'code' in error && error.code === 'ENOENT';
}

/** Reads a file through one buffer. */
class FileWindow implements FileOctets {
  readonly size: number;
  readonly #fd: number;
  #buffer: ArrayBuffer;
  #start = 0;
  #filled = 0;

  constructor(fd: number, size: number, length: number) {
    this.#fd = fd;
    this.size = size;
    this.#buffer = new ArrayBuffer(length);
  }

  at(position: number, length: number): DataView {
    const isHere = position >= this.#start && position + length <= this.#start + this.#filled;
    if (!isHere) this.#fill(position, length);
    return new DataView(this.#buffer, position - this.#start, length);
  }

  #fill(position: number, length: number): void {
    if (length > this.#buffer.byteLength) this.#buffer = new ArrayBuffer(length);
    this.#start = position;
    this.#filled = readSync(this.#fd, new Uint8Array(this.#buffer), 0, this.#buffer.byteLength, position);
    if (this.#filled < length) throw new Error('the file was cut short while it was read');
  }
}
