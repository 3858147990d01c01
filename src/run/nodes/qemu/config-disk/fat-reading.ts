/**
 * Reads the files of a disk that a guest has written. Pure. Nothing on it is trusted: each cluster belongs to one file or
 * folder at most, so that no disk makes more than it has bytes.
 */
import { CONFIG_DISK, ConfigCollector, type ConfigFiles } from './config-files.js';
import {
  CHARACTERS_OF_ENTRY,
  characterPlaces,
  ENTRY,
  FOLDER,
  LAST_PART,
  LONG_NAME,
  SECTOR,
  shortNameSum,
  VOLUME_LABEL,
} from './fat-entries.js';

/** The types of partitions with FAT12 and FAT16. */
const PARTITIONS = [0x01, 0x04, 0x06, 0x0e];
const FIRST_CLUSTER = 2;
/** With so many clusters a disk has FAT16, and with so many more it has another FAT. */
const FEWEST_OF_FAT16 = 4085;
const FEWEST_OF_FAT32 = 65_525;
const DELETED = 0xe5;
/** Stands for the character whose number says deleted. */
const STANDS_FOR_DELETED = 0x05;
const MOST_PARTS = 20;
const LONGEST_PATH = 2048;
/** Marks of a name that is shown in small letters: of its start and of its ending. */
const SMALL_START = 0x08;
const SMALL_ENDING = 0x10;

/** Refuses (409) a disk that is formatted otherwise, or damaged. */
export function filesOf(disk: Buffer): ConfigFiles {
  const collector = new ConfigCollector(CONFIG_DISK);
  try {
    const volume = volumeOf(disk);
    if (volume === undefined) throw collector.refusal('it is not formatted with FAT12 or FAT16');
    collect(volume, volume.root, '', collector);
  } catch (error) {
    if (error instanceof RangeError) throw collector.refusal('it is damaged');
    throw error;
  }
  return collector.files;
}

/** Throws a RangeError when the file system is damaged. */
function collect(volume: Volume, folder: Buffer, path: string, collector: ConfigCollector): void {
  if (path.length > LONGEST_PATH) throw new RangeError('too deep a folder');
  for (const { name, isFolder, cluster, size } of entriesOf(folder)) {
    if (name === '.' || name === '..') continue;
    const own = `${path}${name}`;
    if (isFolder) collect(volume, volume.chain(cluster), `${own}/`, collector);
    else collector.add(own, size === 0 ? Buffer.alloc(0) : volume.file(cluster, size));
  }
}

class Volume {
  readonly root: Buffer;
  readonly #table: Buffer;
  readonly #data: Buffer;
  readonly #clusterBytes: number;
  readonly #count: number;
  readonly #taken = new Set<number>();

  constructor(root: Buffer, table: Buffer, data: Buffer, clusterBytes: number, count: number) {
    this.root = root;
    this.#table = table;
    this.#data = data;
    this.#clusterBytes = clusterBytes;
    this.#count = count;
  }

  chain(first: number): Buffer {
    const parts: Buffer[] = [];
    for (let cluster = first; !this.#isEnd(cluster); cluster = this.#next(cluster)) {
      const index = cluster - FIRST_CLUSTER;
      if (index < 0 || index >= this.#count || this.#taken.has(cluster))
        throw new RangeError('a wrong cluster');
      this.#taken.add(cluster);
      parts.push(this.#data.subarray(index * this.#clusterBytes, (index + 1) * this.#clusterBytes));
    }
    return Buffer.concat(parts);
  }

  file(first: number, size: number): Buffer {
    const content = this.chain(first);
    if (content.length < size) throw new RangeError('content is missing');
    return content.subarray(0, size);
  }

  get #isWide(): boolean {
    return this.#count >= FEWEST_OF_FAT16;
  }

  #isEnd(cluster: number): boolean {
    return cluster >= (this.#isWide ? 0xfff8 : 0xff8);
  }

  #next(cluster: number): number {
    if (this.#isWide) return this.#table.readUInt16LE(cluster * 2);
    const pair = this.#table.readUInt16LE(cluster + (cluster >> 1));
    return (cluster & 1) === 1 ? pair >> 4 : pair & 0xfff;
  }
}

/** Undefined when the disk is formatted otherwise. */
function volumeOf(disk: Buffer): Volume | undefined {
  const start = PARTITIONS.includes(disk[450] ?? 0) ? disk.readUInt32LE(454) * SECTOR : 0;
  const head = disk.subarray(start);
  if (head.length < SECTOR || head.readUInt16LE(11) !== SECTOR) return undefined;
  const [perCluster = 0, tables = 0] = [head[13], head[16]];
  const [reserved, tableSectors] = [head.readUInt16LE(14), head.readUInt16LE(22)];
  const rootBytes = head.readUInt16LE(17) * ENTRY;
  const sectors = head.readUInt16LE(19) || head.readUInt32LE(32);
  if ([perCluster, tables, reserved, tableSectors, rootBytes].includes(0)) return undefined;
  const rootAt = (reserved + tables * tableSectors) * SECTOR;
  const dataAt = rootAt + Math.ceil(rootBytes / SECTOR) * SECTOR;
  const clusterBytes = perCluster * SECTOR;
  const count = Math.floor((Math.min(sectors * SECTOR, head.length) - dataAt) / clusterBytes);
  if (count < 1 || count >= FEWEST_OF_FAT32) return undefined;
  const table = head.subarray(reserved * SECTOR, (reserved + tableSectors) * SECTOR);
  const data = head.subarray(dataAt, dataAt + count * clusterBytes);
  return new Volume(head.subarray(rootAt, rootAt + rootBytes), table, data, clusterBytes, count);
}

interface FolderEntry {
  readonly name: string;
  readonly isFolder: boolean;
  readonly cluster: number;
  readonly size: number;
}

function* entriesOf(folder: Buffer): Generator<FolderEntry> {
  let parts: Buffer[] = [];
  for (let at = 0; at + ENTRY <= folder.length && folder[at] !== 0; at += ENTRY) {
    const entry = folder.subarray(at, at + ENTRY);
    const attributes = entry[11] ?? 0;
    const isDeleted = entry[0] === DELETED;
    if (!isDeleted && (attributes & 0x3f) === LONG_NAME) {
      parts = [...(((entry[0] ?? 0) & LAST_PART) === 0 ? parts : []), entry].slice(-MOST_PARTS);
      continue;
    }
    const long = longName(parts, entry);
    parts = [];
    if (isDeleted || (attributes & VOLUME_LABEL) !== 0) continue;
    yield {
      name: long ?? shortName(entry),
      isFolder: (attributes & FOLDER) !== 0,
      cluster: entry.readUInt16LE(26),
      size: entry.readUInt32LE(28),
    };
  }
}

/** Undefined when the parts before an entry are no name of it. */
function longName(parts: readonly Buffer[], entry: Buffer): string | undefined {
  const sum = shortNameSum(entry);
  const areWhole = parts.every(
    (part, index) => ((part[0] ?? 0) & ~LAST_PART) === parts.length - index && part[13] === sum,
  );
  if (parts.length === 0 || !areWhole) return undefined;
  const codes = parts
    .toReversed()
    .flatMap((part) => characterPlaces.map((place) => part.readUInt16LE(place)));
  const end = codes.indexOf(0);
  return String.fromCharCode(...codes.slice(0, end < 0 ? parts.length * CHARACTERS_OF_ENTRY : end));
}

function shortName(entry: Buffer): string {
  const bytes = Buffer.from(entry.subarray(0, 11));
  if (bytes[0] === STANDS_FOR_DELETED) bytes[0] = DELETED;
  const marks = entry[12] ?? 0;
  const start = shown(bytes.toString('latin1', 0, 8), (marks & SMALL_START) !== 0);
  const ending = shown(bytes.toString('latin1', 8), (marks & SMALL_ENDING) !== 0);
  return ending === '' ? start : `${start}.${ending}`;
}

function shown(padded: string, isSmall: boolean): string {
  const text = padded.trimEnd();
  return isSmall ? text.toLowerCase() : text;
}
