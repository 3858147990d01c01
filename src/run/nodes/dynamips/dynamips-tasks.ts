/** The files of Dynamips routers. Runs in a file thread. */
import {
  closeSync,
  fstatSync,
  lstatSync,
  openSync,
  constants,
  readdirSync,
  readSync,
  renameSync,
  rmSync,
} from 'node:fs';
import { join } from 'node:path';
import { ownFolder } from '../../../base/disk/containment.js';
import { isRefusal } from '../../../base/errors/errors.js';
import { makeFolder, publishBytes } from '../../../base/disk/published-file.js';
import { readRegularFile } from '../../../base/disk/regular-file.js';
import type { TaskTable } from '../../../base/threads/task.js';
import {
  CONFIG_FOLDER,
  configName,
  CONFIGS,
  type ConfigName,
  withHostname,
} from '../../../lab/kinds/dynamips-files.js';
import { TEMPORARY } from '../../../lab/projects/folder-layout.js';

const LARGEST_CONFIG = 1024 * 1024;
/** The first bytes of an image: an ELF file of 32 bits, big-endian. */
const MAGIC = Buffer.from('7f454c46010201', 'hex');
const READ = constants.O_RDONLY | constants.O_NONBLOCK;

/** A file that is of no use when the router has stopped. The memory of a router is as large as it says. */
const VOLATILE = /\.ghost$|^ilt_|^c[0-9]{4}_i[0-9]+_(lock|log\.txt|ram)$/;
/** The name of a file of a router: its platform, its number, and the kind of file. */
const MACHINE_FILE = /^(c[0-9]{4}_i)([0-9]+)(_[a-z0-9_.-]+)$/;
const CONFIG_FILE = /^i([0-9]+)_(startup|private)-config\.cfg$/;
/** The files that stand for disks and memories which a router keeps when it is off. */
const DISK = /^c[0-9]{4}_i[0-9]+_(nvram|rom|bootflash|flash[0-9]?|disk[0-9]|slot[0-9])$/;

interface RouterFolder {
  readonly root: string;
  readonly folder: string;
}

type RouterConfigs = Readonly<Partial<Record<ConfigName, string>>>;

export interface DynamipsTasks extends TaskTable {
  /**
   * Makes the folder of a router that starts, and removes what the program would follow or read to its harm. Files of
   * another number, which a copy of a router has, get its own. Returns the real path and the configurations there are.
   */
  readonly prepareRouter: (input: RouterFolder & { tables: string; number: number }) => {
    readonly folder: string;
    readonly configs: readonly ConfigName[];
  };
  /** Whether the file begins as an image of a router does. */
  readonly isRouterImage: (input: { path: string }) => boolean;
  /** Keeps the configurations, in base64, of a router. Does nothing when the folder has gone. */
  readonly keepConfigs: (input: RouterFolder & { number: number; configs: RouterConfigs }) => void;
  /** Puts a name into the configurations. */
  readonly nameRouter: (input: RouterFolder & { number: number; name: string }) => void;
  /** Removes what a router leaves; with `disks` also the files of its disks. Does nothing when the folder has gone. */
  readonly sweepRouter: (input: RouterFolder & { disks: boolean }) => void;
}

export const dynamipsTasks: DynamipsTasks = {
  prepareRouter({ root, folder: path, tables, number }) {
    makeFolder(tables);
    const folder = ownFolder(root, path, true);
    removeOthers(folder, [CONFIG_FOLDER]);
    removeMatching(folder, VOLATILE);
    const configs = ownFolder(root, join(path, CONFIG_FOLDER), true);
    removeOthers(configs, []);
    for (const name of readdirSync(folder)) {
      renumber(
        folder,
        name,
        name.replace(MACHINE_FILE, (_, start, _before, rest) => `${start}${number}${rest}`),
      );
    }
    for (const name of readdirSync(configs)) {
      renumber(
        configs,
        name,
        name.replace(CONFIG_FILE, (_, _before, kind) => `i${number}_${kind}-config.cfg`),
      );
    }
    const isThere = (config: ConfigName): boolean => {
      const found = lstatSync(join(configs, configName(number, config)), { throwIfNoEntry: false });
      return found !== undefined && found.size > 0;
    };
    return { folder, configs: CONFIGS.filter(isThere) };
  },

  isRouterImage({ path }) {
    const fd = openSync(path, READ);
    try {
      const start = Buffer.alloc(MAGIC.length);
      return (
        fstatSync(fd).isFile() &&
        readSync(fd, start, 0, start.length, 0) === start.length &&
        start.equals(MAGIC)
      );
    } finally {
      closeSync(fd);
    }
  },

  keepConfigs({ root, folder, number, configs }) {
    whileThere(() => {
      const inner = ownFolder(root, join(folder, CONFIG_FOLDER));
      for (const config of CONFIGS) {
        const text = configs[config];
        if (text === undefined || text === '') continue;
        const file = join(inner, configName(number, config));
        const bytes = Buffer.from(text, 'base64');
        if (bytes.length > LARGEST_CONFIG || isSame(file, bytes)) continue;
        publishBytes(ownFolder(root, TEMPORARY, true), file, bytes);
      }
    });
  },

  nameRouter({ root, folder, number, name }) {
    whileThere(() => {
      const inner = ownFolder(root, join(folder, CONFIG_FOLDER));
      for (const config of CONFIGS) {
        const file = join(inner, configName(number, config));
        if (lstatSync(file, { throwIfNoEntry: false })?.isFile() !== true) continue;
        const before = readRegularFile(file, LARGEST_CONFIG).toString('latin1');
        const after = withHostname(before, Buffer.from(name).toString('latin1'));
        if (after !== before)
          publishBytes(ownFolder(root, TEMPORARY, true), file, Buffer.from(after, 'latin1'));
      }
    });
  },

  sweepRouter({ root, folder: path, disks }) {
    whileThere(() => {
      const folder = ownFolder(root, path);
      removeMatching(folder, VOLATILE);
      if (disks) removeMatching(folder, DISK);
    });
  },
};

/** Removes what is neither a regular file nor one of the folders: the program would follow a link, and write there. */
function removeOthers(folder: string, folders: readonly string[]): void {
  for (const entry of readdirSync(folder, { withFileTypes: true })) {
    const isKept =
      entry.isFile() || (entry.isDirectory() && (folders.includes(entry.name) || isForeign(entry.name)));
    if (!isKept) rmSync(join(folder, entry.name), { recursive: true });
  }
}

/** A folder that the user has put there: the program does not look for it. */
function isForeign(name: string): boolean {
  return !MACHINE_FILE.test(name) && !CONFIG_FILE.test(name);
}

function removeMatching(folder: string, pattern: RegExp): void {
  for (const entry of readdirSync(folder, { withFileTypes: true })) {
    if (!entry.isDirectory() && pattern.test(entry.name)) rmSync(join(folder, entry.name), { force: true });
  }
}

function renumber(folder: string, from: string, to: string): void {
  if (from === to || lstatSync(join(folder, to), { throwIfNoEntry: false }) !== undefined) return;
  renameSync(join(folder, from), join(folder, to));
}

function isSame(file: string, bytes: Buffer): boolean {
  const found = lstatSync(file, { throwIfNoEntry: false });
  return (
    found?.isFile() === true &&
    found.size === bytes.length &&
    readRegularFile(file, LARGEST_CONFIG).equals(bytes)
  );
}

/** A node that is deleted may lose its folder at any time. */
function whileThere(work: () => void): void {
  try {
    work();
  } catch (error) {
    if (!isRefusal(error, 'file_missing')) throw error;
  }
}
