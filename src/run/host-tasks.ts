/** Tasks of a file thread: they look up what this host has: interfaces, programs, places of sockets, free memory. */
import {
  accessSync,
  constants,
  lstatSync,
  readdirSync,
  readFileSync,
  statfsSync,
  type Dirent,
} from 'node:fs';
import { freemem, networkInterfaces, totalmem } from 'node:os';
import { join } from 'node:path';
import type { TaskTable } from '../base/threads/task.js';
import { clientPath } from '../base/disk/containment.js';
import { publishBytes } from '../base/disk/published-file.js';
import { SYSTEM_PATH } from './keeper/program.js';

export interface HostInterface {
  readonly name: string;
  readonly isUp: boolean;
  readonly mac: string;
  /** The first IPv4 address and its mask; empty without one. */
  readonly address: string;
  readonly netmask: string;
  /** The user that a TAP was made for, -1 when there is none; undefined for an interface that is no TAP. */
  readonly tapOwner: number | undefined;
  readonly isBridge: boolean;
}

/** In bytes. */
interface HostMemory {
  readonly memory_total: number;
  /** Memory that only caches files counts as free. */
  readonly memory_free: number;
  readonly swap_total: number;
  readonly swap_free: number;
}

interface HostRoom extends HostMemory {
  readonly disk_usage_percent: number;
}

export interface HostTasks extends TaskTable {
  /** Sorted by name. */
  readonly findInterfaces: (input: undefined) => HostInterface[];
  /** Whether the host has the program where the keeper looks for it. */
  readonly hasProgram: (input: { name: string }) => boolean;
  /** The bytes that a folder takes on the disk, as far as its first 200,000 files. No link is followed. */
  readonly measureFolder: (input: { path: string }) => number;
  /** The real path of a socket's file, which must lie in the folder. */
  readonly placeSocketFile: (input: { folder: string; path: string }) => string;
  /** Each report appears whole or not at all. */
  readonly writeReports: (input: { folder: string; reports: Readonly<Record<string, string>> }) => void;
  /** The disk of the folder, in bytes. */
  readonly measureDisk: (input: { folder: string }) => { readonly size: number; readonly free: number };
  /** The memory of the host, and the use of the disk of the folder. */
  readonly measureHost: (input: { folder: string }) => HostRoom;
}

/** Linux lists all interfaces here, also those without an address. */
const SYSTEM_FOLDER = '/sys/class/net';
const UP = 1;
const MOST_MEASURED = 200_000;
/** The unit in which the kernel tells the blocks of a file. */
const BLOCK = 512;

export const hostTasks: HostTasks = {
  findInterfaces() {
    const addressed = networkInterfaces();
    const names = new Set([...Object.keys(addressed), ...systemNames()]);
    return [...names].sort().map((name) => {
      const addresses = addressed[name] ?? [];
      const first = addresses.find(({ family }) => family === 'IPv4');
      return {
        name,
        isUp: isUp(name) ?? addresses.length > 0,
        mac: systemText(name, 'address') ?? addresses[0]?.mac ?? '',
        address: first?.address ?? '',
        netmask: first?.netmask ?? '',
        tapOwner: numberOf(systemText(name, 'owner')),
        isBridge: systemText(name, 'bridge/bridge_id') !== undefined,
      };
    });
  },

  hasProgram({ name }) {
    return SYSTEM_PATH.split(':').some((folder) => isExecutable(join(folder, name)));
  },

  measureFolder({ path }) {
    let bytes = 0;
    let left = MOST_MEASURED;
    const folders = [path];
    for (let folder = folders.pop(); folder !== undefined && left > 0; folder = folders.pop()) {
      for (const entry of entriesOf(folder)) {
        if (left-- <= 0) break;
        const within = join(folder, entry.name);
        if (entry.isDirectory()) folders.push(within);
        else bytes += (lstatSync(within, { throwIfNoEntry: false })?.blocks ?? 0) * BLOCK;
      }
    }
    return bytes;
  },

  placeSocketFile({ folder, path }) {
    return clientPath({ root: folder, path }, 'write');
  },

  writeReports({ folder, reports }) {
    for (const [name, text] of Object.entries(reports))
      publishBytes(folder, join(folder, name), Buffer.from(text));
  },

  measureDisk({ folder }) {
    const { bsize, blocks, bavail } = statfsSync(folder);
    return { size: blocks * bsize, free: bavail * bsize };
  },

  measureHost({ folder }) {
    const { blocks, bavail, bfree } = statfsSync(folder);
    const used = blocks - bfree;
    // Blocks that only root may use count neither as used nor as free.
    const most = used + bavail;
    return { ...hostMemory(), disk_usage_percent: most > 0 ? Math.round((used / most) * 100) : 0 };
  },
};

function hostMemory(): HostMemory {
  try {
    const text = readFileSync('/proc/meminfo', 'utf8');
    const bytes = (name: string): number => {
      const [, kibibytes] = new RegExp(`^${name}:\\s+(\\d+) kB$`, 'm').exec(text) ?? [];
      return Number(kibibytes ?? 0) * 1024;
    };
    return {
      memory_total: bytes('MemTotal'),
      memory_free: bytes('MemAvailable'),
      swap_total: bytes('SwapTotal'),
      swap_free: bytes('SwapFree'),
    };
  } catch {
    return { memory_total: totalmem(), memory_free: freemem(), swap_total: 0, swap_free: 0 };
  }
}

export function isExecutable(path: string): boolean {
  try {
    accessSync(path, constants.X_OK);
    return true;
  } catch {
    return false;
  }
}

function systemNames(): string[] {
  try {
    // The folder also has entries that are no interfaces.
    return readdirSync(SYSTEM_FOLDER).filter((name) => systemText(name, 'flags') !== undefined);
  } catch {
    return [];
  }
}

function systemText(name: string, file: string): string | undefined {
  try {
    return readFileSync(join(SYSTEM_FOLDER, name, file), 'utf8').trim();
  } catch {
    return undefined;
  }
}

function isUp(name: string): boolean | undefined {
  const flags = systemText(name, 'flags');
  return flags === undefined ? undefined : (Number(flags) & UP) !== 0;
}

function numberOf(text: string | undefined): number | undefined {
  return text === undefined ? undefined : Number(text);
}

/** Programs make and remove folders meanwhile: one that is not there, or is closed to the server, has no entries. */
function entriesOf(folder: string): Dirent[] {
  try {
    return readdirSync(folder, { withFileTypes: true });
  } catch {
    return [];
  }
}
