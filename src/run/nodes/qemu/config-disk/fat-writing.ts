/** A disk of 1 MiB with one partition, formatted with FAT12 and long names, and files on it. Pure. */
import { CONFIG_DISK, ConfigCollector, DISK_BYTES, type ConfigFiles } from './config-files.js';
import { FIRST_DAY } from './config-zip.js';
import {
  CHARACTERS_OF_ENTRY,
  characterPlaces,
  ENTRY,
  FOLDER,
  LONG_NAME,
  LAST_PART,
  SECTOR,
  shortNameSum,
} from './fat-entries.js';

/** The partition begins here, where GNS3 has it: other programs rely on that. */
const START = 8;
const SECTORS = DISK_BYTES / SECTOR - START;
const TABLES = 2;
const TABLE_SECTORS = 6;
const ROOT_ENTRIES = 512;
const FIRST_DATA = 1 + TABLES * TABLE_SECTORS + (ROOT_ENTRIES * ENTRY) / SECTOR;
const FIRST_CLUSTER = 2;
const CLUSTERS = SECTORS - FIRST_DATA;
const LAST_OF_CHAIN = 0xfff;
const MEDIA = 0xf8;
const FAT12 = 1;
const SIGNATURE = 0xaa55;
const PLAIN = /^[A-Z0-9_-]{1,8}(\.[A-Z0-9_-]{1,3})?$/;

/** A folder by the names in it: contents of files, and other folders. */
type Folder = Map<string, Buffer | Folder>;

/** Refuses (409) files for which the disk has no room. */
export function diskWith(files: ConfigFiles): Buffer {
  const volume = new Volume();
  const root = treeOf(files);
  const entries = volume.entriesOf(root, 0);
  if (entries.length > ROOT_ENTRIES * ENTRY) throw volume.full();
  return volume.disk(entries);
}

function treeOf(files: ConfigFiles): Folder {
  const root: Folder = new Map();
  for (const [path, content] of files) {
    const parts = path.split('/');
    const name = parts.pop() ?? '';
    let folder = root;
    for (const part of parts) {
      const known = folder.get(part);
      if (Buffer.isBuffer(known)) throw new ConfigCollector(path).refusal('it is in a file');
      const inner: Folder = known ?? new Map<string, Buffer | Folder>();
      folder.set(part, inner);
      folder = inner;
    }
    folder.set(name, content);
  }
  return root;
}

class Volume {
  readonly #data = Buffer.alloc(CLUSTERS * SECTOR);
  readonly #chain = new Map<number, number>();
  #next = FIRST_CLUSTER;

  full(): Error {
    return new ConfigCollector(CONFIG_DISK).refusal('the files have no room on it');
  }

  /** The entries of a folder, whose inner folders and files are put on the disk. `own` is the cluster of the folder. */
  entriesOf(folder: Folder, own: number): Buffer {
    const entries: Buffer[] = [];
    const taken = new Set<string>();
    for (const [name, content] of folder) {
      const short = shortName(name, taken);
      const isFile = Buffer.isBuffer(content);
      const place = isFile ? this.#put(content) : this.#putFolder(content, own);
      entries.push(...longEntries(name, short));
      entries.push(shortEntry(short, isFile ? 0 : FOLDER, place, isFile ? content.length : 0));
    }
    return Buffer.concat(entries);
  }

  disk(root: Buffer): Buffer {
    const disk = Buffer.alloc(DISK_BYTES);
    writePartition(disk);
    const volume = disk.subarray(START * SECTOR);
    writeHead(volume);
    const table = this.#table();
    for (let index = 0; index < TABLES; index++) table.copy(volume, (1 + index * TABLE_SECTORS) * SECTOR);
    root.copy(volume, (1 + TABLES * TABLE_SECTORS) * SECTOR);
    this.#data.copy(volume, FIRST_DATA * SECTOR);
    return disk;
  }

  #putFolder(folder: Folder, parent: number): number {
    const count = [...folder.keys()].reduce((sum, name) => sum + longCount(name) + 1, 2);
    const place = this.#allocate(count * ENTRY);
    const dots = [shortEntry('.', FOLDER, place, 0), shortEntry('..', FOLDER, parent, 0)];
    this.#write(place, Buffer.concat([...dots, this.entriesOf(folder, place)]));
    return place;
  }

  #put(content: Buffer): number {
    if (content.length === 0) return 0;
    const place = this.#allocate(content.length);
    this.#write(place, content);
    return place;
  }

  #allocate(bytes: number): number {
    const first = this.#next;
    this.#next += Math.ceil(bytes / SECTOR);
    if (this.#next > FIRST_CLUSTER + CLUSTERS) throw this.full();
    for (let cluster = first; cluster < this.#next; cluster++)
      this.#chain.set(cluster, cluster + 1 === this.#next ? LAST_OF_CHAIN : cluster + 1);
    return first;
  }

  #write(cluster: number, content: Buffer): void {
    content.copy(this.#data, (cluster - FIRST_CLUSTER) * SECTOR);
  }

  /** Two entries are three bytes. */
  #table(): Buffer {
    const table = Buffer.alloc(TABLE_SECTORS * SECTOR);
    const entries = [[0, 0xf00 | MEDIA], [1, LAST_OF_CHAIN], ...this.#chain] as const;
    for (const [cluster = 0, next = 0] of entries) {
      const at = cluster + (cluster >> 1);
      const shifted = (cluster & 1) === 1 ? next << 4 : next;
      table.writeUInt16LE(table.readUInt16LE(at) | shifted, at);
    }
    return table;
  }
}

function writePartition(disk: Buffer): void {
  const at = 446;
  disk[at + 4] = FAT12;
  disk.writeUInt32LE(START, at + 8);
  disk.writeUInt32LE(SECTORS, at + 12);
  disk.writeUInt16LE(SIGNATURE, SECTOR - 2);
}

function writeHead(volume: Buffer): void {
  volume.set([0xeb, 0x3c, 0x90]);
  volume.write('WIREFARM', 3, 'latin1');
  volume.writeUInt16LE(SECTOR, 11);
  volume[13] = 1;
  volume.writeUInt16LE(1, 14);
  volume[16] = TABLES;
  volume.writeUInt16LE(ROOT_ENTRIES, 17);
  volume.writeUInt16LE(SECTORS, 19);
  volume[21] = MEDIA;
  volume.writeUInt16LE(TABLE_SECTORS, 22);
  // The geometry, which no program of today uses: sectors of a track, and heads.
  volume.writeUInt16LE(32, 24);
  volume.writeUInt16LE(2, 26);
  volume.writeUInt32LE(START, 28);
  volume[36] = 0x80;
  volume[38] = 0x29;
  volume.write('NO NAME    FAT12   ', 43, 'latin1');
  volume.writeUInt16LE(SIGNATURE, SECTOR - 2);
}

/** The name of eight characters and three, where another one is the long name. */
function shortName(name: string, taken: Set<string>): string {
  if (PLAIN.test(name) && !taken.has(name)) {
    taken.add(name);
    return name;
  }
  const dot = name.lastIndexOf('.');
  const plain = (text: string): string => text.toUpperCase().replaceAll(/[^A-Z0-9_-]/g, '_');
  const ending = dot > 0 ? `.${plain(name.slice(dot + 1)).slice(0, 3)}` : '';
  const start = plain(dot > 0 ? name.slice(0, dot) : name);
  for (let number = 1; ; number++) {
    const tail = `~${number}`;
    const short = start.slice(0, 8 - tail.length) + tail + ending;
    if (taken.has(short)) continue;
    taken.add(short);
    return short;
  }
}

function shortEntry(short: string, attributes: number, cluster: number, size: number): Buffer {
  const entry = Buffer.alloc(ENTRY);
  paddedName(short).copy(entry);
  entry[11] = attributes;
  entry.writeUInt16LE(FIRST_DAY, 24);
  entry.writeUInt16LE(cluster, 26);
  entry.writeUInt32LE(size, 28);
  return entry;
}

function paddedName(short: string): Buffer {
  const isDots = short === '.' || short === '..';
  const [start = '', ending = ''] = isDots ? [short] : short.split('.');
  return Buffer.from(start.padEnd(8) + ending.padEnd(3), 'latin1');
}

/** The number of entries that a long name takes; a plain name needs none. */
function longCount(name: string): number {
  return PLAIN.test(name) ? 0 : Math.ceil(name.length / CHARACTERS_OF_ENTRY);
}

/** The parts of a long name, the last first. */
function longEntries(name: string, short: string): Buffer[] {
  const count = longCount(name);
  const sum = shortNameSum(paddedName(short));
  return Array.from({ length: count }, (_, index) => {
    const part = count - index;
    const entry = Buffer.alloc(ENTRY);
    entry[0] = part | (index === 0 ? LAST_PART : 0);
    entry[11] = LONG_NAME;
    entry[13] = sum;
    for (const [number, place] of characterPlaces.entries()) {
      const at = (part - 1) * CHARACTERS_OF_ENTRY + number;
      // The end of the name is marked by a zero, and what follows by ones.
      const code = at < name.length ? name.charCodeAt(at) : at === name.length ? 0 : 0xffff;
      entry.writeUInt16LE(code, place);
    }
    return entry;
  });
}
