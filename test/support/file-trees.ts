/** Folders full of files of every kind, the same in every run with the same seed, and what is in them. */
import { createHash } from 'node:crypto';
import {
  chmodSync,
  closeSync,
  ftruncateSync,
  lstatSync,
  mkdirSync,
  openSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  renameSync,
  rmSync,
  symlinkSync,
  truncateSync,
  utimesSync,
  writeFileSync,
  writeSync,
} from 'node:fs';
import { dirname, join } from 'node:path';
import { Random, RandomBytes } from './random.js';

const CHUNK = 64 * 1024;
const NAMES = [
  'disk.qcow2',
  'startup-config.cfg',
  'Router α',
  'スイッチ一',
  'маршрутизатор',
  'جهاز',
  'caf\u00e9',
  'cafe\u0301',
  '😀 and \uffee',
  ' two  spaces ',
  '-rf',
  '.hidden',
  'new\nline',
  '"quotes" \'and\' \\',
  '%2e%2e',
  '..a',
  'a',
  'a-b',
  'a.b',
  'x'.repeat(200),
];
const SIZES = [
  0,
  1,
  100,
  4095,
  4096,
  4097,
  CHUNK - 1,
  CHUNK,
  CHUNK + 1,
  2 * CHUNK,
  5 * CHUNK + 7,
  1024 * 1024 + 1,
];
const FILE_MODES = [0o644, 0o600, 0o755, 0o444, 0o4755, 0o640];
const FOLDER_MODES = [0o755, 0o700, 0o750];
const TARGETS = ['disk.qcow2', '../..', '/etc/passwd', 'not there', 'ein Ziel/ü'];

export class FileTree {
  readonly #root: string;
  readonly #random: Random;
  readonly #bytes: RandomBytes;
  readonly #files: string[] = [];
  readonly #folders = [''];
  /** Content that many files have. */
  readonly #common: Buffer[];
  #clock = 1_500_000_000;

  constructor(root: string, seed: number) {
    this.#root = root;
    this.#random = new Random(seed);
    this.#bytes = new RandomBytes(seed);
    this.#common = Array.from({ length: 4 }, () => this.#bytes.next(CHUNK));
    mkdirSync(root, { recursive: true });
  }

  /** So many changes of every kind. */
  change(count: number): void {
    for (let done = 0; done < count; done++) {
      const path = this.#files.length > 0 ? this.#random.pick(this.#files) : undefined;
      const chance = this.#random.below(14);
      if (path === undefined || chance < 5) this.#add();
      else if (chance < 6) this.#remove(path);
      else if (chance < 8) this.#rename(path);
      else if (chance < 9) chmodSync(this.#at(path), this.#random.pick(FILE_MODES));
      else this.#rewrite(path);
    }
  }

  #add(): void {
    const parent = this.#random.pick(this.#folders);
    const name = `${this.#random.pick(NAMES)}${this.#random.chance(0.5) ? this.#random.below(100) : ''}`;
    const path = parent === '' ? name : `${parent}/${name}`;
    if (lstatSync(this.#at(path), { throwIfNoEntry: false }) !== undefined) return;
    const chance = this.#random.below(10);
    if (chance < 2 && path.length < 2000) {
      mkdirSync(this.#at(path));
      chmodSync(this.#at(path), this.#random.pick(FOLDER_MODES));
      this.#folders.push(path);
    } else if (chance < 3) {
      symlinkSync(this.#random.pick(TARGETS), this.#at(path));
    } else {
      this.#write(path);
      this.#files.push(path);
    }
  }

  #write(path: string): void {
    const fd = openSync(this.#at(path), 'wx');
    const size = this.#random.pick(SIZES) + (this.#random.chance(0.2) ? this.#random.below(CHUNK) : 0);
    ftruncateSync(fd, size);
    for (let position = 0; position < size; position += CHUNK) {
      const length = Math.min(CHUNK, size - position);
      if (!this.#random.chance(0.3)) writeSync(fd, this.#chunk(), 0, length, position);
    }
    closeSync(fd);
    chmodSync(this.#at(path), this.#random.pick(FILE_MODES));
    this.#touch(path);
  }

  #rewrite(path: string): void {
    const { size } = lstatSync(this.#at(path));
    const chance = this.#random.below(4);
    if (chance === 0) {
      // As who replaces a file does it.
      rmSync(this.#at(path));
      this.#write(path);
      return;
    }
    if (chance === 1) {
      truncateSync(this.#at(path), this.#random.below(size + CHUNK));
    } else {
      const fd = openSync(this.#at(path), 'r+');
      writeSync(fd, this.#chunk(), 0, 1 + this.#random.below(CHUNK), this.#random.below(size + 1));
      closeSync(fd);
    }
    this.#touch(path);
  }

  #remove(path: string): void {
    rmSync(this.#at(path));
    this.#files.splice(this.#files.indexOf(path), 1);
  }

  #rename(path: string): void {
    const parent = this.#random.pick(this.#folders);
    const to = join(parent, `moved ${this.#random.below(1000)}`);
    if (lstatSync(this.#at(to), { throwIfNoEntry: false }) !== undefined) return;
    renameSync(this.#at(path), this.#at(to));
    this.#files[this.#files.indexOf(path)] = to;
  }

  #chunk(): Buffer {
    const chance = this.#random.below(4);
    if (chance === 0) return this.#random.pick(this.#common);
    return chance === 1 ? Buffer.alloc(CHUNK) : this.#bytes.next(CHUNK);
  }

  /** No two contents of a file have the same time, whatever the clock of the file system. */
  #touch(path: string): void {
    this.#clock += 1.25;
    utimesSync(this.#at(path), this.#clock, this.#clock);
  }

  #at(path: string): string {
    return join(this.#root, path);
  }
}

/** Everything in the folder but what is left out: the kind, the permissions, the time and the content of each. */
export function recordTree(root: string, leftOut: readonly string[] = []): ReadonlyMap<string, string> {
  const found = new Map<string, string>();
  for (const entry of readdirSync(root, { recursive: true, withFileTypes: true })) {
    const full = join(entry.parentPath, entry.name);
    const path = full.slice(root.length + 1);
    if (leftOut.some((folder) => path === folder || path.startsWith(`${folder}/`))) continue;
    const { mode, mtimeMs } = lstatSync(full);
    const permissions = (mode & 0o7777).toString(8);
    if (entry.isSymbolicLink()) found.set(path, `link ${readlinkSync(full)}`);
    else if (entry.isDirectory()) found.set(path, `folder ${permissions}`);
    else if (entry.isFile()) {
      const digest = createHash('sha1').update(readFileSync(full)).digest('hex');
      found.set(path, `file ${permissions} ${Math.round(mtimeMs)} ${digest}`);
    } else found.set(path, 'something else');
  }
  return new Map([...found].sort(([a], [b]) => (a < b ? -1 : 1)));
}

/** Files by their paths, with this content. */
export function writeFiles(root: string, files: Readonly<Record<string, string | Buffer>>): void {
  for (const [path, content] of Object.entries(files)) {
    mkdirSync(dirname(join(root, path)), { recursive: true });
    writeFileSync(join(root, path), content);
  }
}
