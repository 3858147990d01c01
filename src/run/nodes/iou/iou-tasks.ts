/** The files of IOU nodes. Everything in the folder of a node may come from a client. Runs in a file thread. */
import {
  accessSync,
  closeSync,
  constants,
  existsSync,
  lstatSync,
  mkdirSync,
  readdirSync,
  readSync,
  realpathSync,
  renameSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { basename, join } from 'node:path';
import { ownFolder } from '../../../base/disk/containment.js';
import { publishBytes } from '../../../base/disk/published-file.js';
import { openRegularFile, readRegularFile } from '../../../base/disk/regular-file.js';
import type { TaskTable } from '../../../base/threads/task.js';
import { PRIVATE_CONFIG, STARTUP_CONFIG } from '../../../lab/kinds/iou.js';
import { TEMPORARY } from '../../../lab/projects/folder-layout.js';
import { ELF_HEAD, elfFacts } from './elf.js';
import type { NetioSockets } from './netio-paths.js';
import { isFreed, joinImage, ownSockets, removeSockets, sharedSockets } from './netio-sockets.js';
import { netmapOf } from './netmap.js';
import { NvramError } from './nvram-error.js';
import { LARGEST_NVRAM, readNvram, writeNvram } from './nvram.js';

/** The folder of a node, below the folder of its project. */
export interface IouFolder {
  readonly root: string;
  readonly folder: string;
  readonly applicationId: number;
}

interface IouStart extends IouFolder {
  readonly image: string;
  /** The size of an NVRAM that is new, in kilobytes. */
  readonly nvram: number;
  /** Where the licence file is written, for the user of the server alone. */
  readonly license: { readonly folder: string; readonly name: string; readonly content: string };
  /** The user of a confined image, and the folder below which it has a folder of this name for its sockets. */
  readonly own: { readonly user: number; readonly root: string; readonly name: string } | undefined;
}

/** A node that is ready to start, or why it cannot: a sentence for the user. */
export type IouReady =
  | {
      readonly folder: string;
      /** The name of the image in the folder of the node. */
      readonly command: string;
      /** The path of the licence file; undefined without one. */
      readonly license: string | undefined;
      readonly sockets: NetioSockets;
    }
  | { readonly fault: string };

export interface IouTasks extends TaskTable {
  readonly prepareIou: (input: IouStart) => IouReady;
  /** Makes room for the socket of the bridge to an image that runs; false when a program has it. */
  readonly rejoinIou: (input: NetioSockets) => boolean;
  /**
   * Copies the configurations out of the NVRAM when it has changed since `seen`. Returns what has been seen now, and
   * whether the configurations are others.
   */
  readonly saveIou: (input: IouFolder & { seen: string }) => {
    readonly seen: string;
    readonly isChanged: boolean;
  };
  /** Lets the engine find the socket of an image that has started. Returns whether it is there. */
  readonly joinIou: (input: NetioSockets) => boolean;
  /** Removes what a node that has ended has left outside of its folder. */
  readonly clearIou: (input: { sockets: NetioSockets; license: string | undefined }) => void;
}

const NETMAP = 'NETMAP';
const FOLDER_MODE = 0o700;
const SECRET_MODE = 0o600;
/** Newer images look at their own path, and refuse a longer name. */
const LONGEST_NAME = 63;
/** Names that an image may not have, because files of its node have them. */
const OWN_FILE = /^(?:nvram_|vlan\.dat-|NETMAP$|startup-config\.cfg$|private-config\.cfg$)/;
const NUMBERED_FILE = /^(nvram_|vlan\.dat-)[0-9]{5}$/;

export const iouTasks: IouTasks = {
  prepareIou({ root, folder: path, applicationId, image, nvram, license, own }) {
    const fault = imageFault(image);
    if (fault !== undefined) return { fault };
    const folder = ownFolder(root, path, true);
    const temporary = ownFolder(root, TEMPORARY, true);
    const command = basename(image).slice(0, LONGEST_NAME);
    if (OWN_FILE.test(command)) return { fault: `the image may not have the name ${command}` };
    replaceByLink(join(folder, command), realpathSync(image));
    publish(temporary, join(folder, NETMAP), Buffer.from(netmapOf(applicationId)));
    takeNumber(folder, applicationId);
    try {
      loadConfigs(temporary, folder, applicationId, nvram);
    } catch (error) {
      if (error instanceof NvramError) return { fault: error.message };
      throw error;
    }
    const sockets =
      own === undefined
        ? sharedSockets(applicationId)
        : ownSockets(own.root, own.name, applicationId, own.user);
    if (typeof sockets === 'string') return { fault: sockets };
    return { folder, command: `./${command}`, license: writeLicense(license), sockets };
  },

  rejoinIou({ bridge }) {
    return isFreed(bridge);
  },

  saveIou({ root, folder: path, applicationId, seen }) {
    const folder = ownFolder(root, path);
    const file = join(folder, nvramName(applicationId));
    const found = lstatSync(file, { throwIfNoEntry: false, bigint: true });
    const now = found?.isFile() === true ? `${found.mtimeNs}-${found.size}` : '';
    if (now === seen || now === '') return { seen: now, isChanged: false };
    const configs = readNvram(readRegularFile(file, LARGEST_NVRAM));
    const temporary = ownFolder(root, TEMPORARY, true);
    const changes = [
      saveConfig(temporary, join(folder, STARTUP_CONFIG), configs.startup),
      saveConfig(temporary, join(folder, PRIVATE_CONFIG), configs.private),
    ];
    return { seen: now, isChanged: changes.includes(true) };
  },

  joinIou(sockets) {
    return joinImage(sockets);
  },

  clearIou({ sockets, license }) {
    removeSockets(sockets);
    if (license !== undefined) rmSync(license, { force: true });
  },
};

function imageFault(image: string): string | undefined {
  const { fd } = openRegularFile(image);
  const head = Buffer.alloc(ELF_HEAD);
  let facts;
  try {
    facts = elfFacts(head.subarray(0, readSync(fd, head, 0, head.length, 0)));
  } finally {
    closeSync(fd);
  }
  const name = basename(image);
  if (facts === undefined) return `${name} is no IOU image: it is no program for Linux on a PC`;
  if (!isExecutable(image)) return `there is no permission to run the image ${name}`;
  const { interpreter, bits } = facts;
  if (interpreter === undefined || existsSync(interpreter)) return undefined;
  const hint = bits === 32 ? ' (Debian has it in the package libc6:i386)' : '';
  return `${name} needs ${interpreter}, which this host does not have${hint}`;
}

function isExecutable(path: string): boolean {
  try {
    accessSync(path, constants.X_OK);
    return true;
  } catch {
    return false;
  }
}

function replaceByLink(path: string, target: string): void {
  rmSync(path, { recursive: true, force: true });
  symlinkSync(target, path);
}

/** A folder of this name gives way. */
function publish(temporary: string, path: string, bytes: Buffer): void {
  if (lstatSync(path, { throwIfNoEntry: false })?.isDirectory() === true) rmSync(path, { recursive: true });
  publishBytes(temporary, path, bytes);
}

function nvramName(applicationId: number): string {
  return `nvram_${numberOf(applicationId)}`;
}

function numberOf(applicationId: number): string {
  return String(applicationId).padStart(5, '0');
}

/** Files that the node has written under an earlier number get the present one. What is no file goes. */
function takeNumber(folder: string, applicationId: number): void {
  const present = numberOf(applicationId);
  for (const name of readdirSync(folder)) {
    const [, prefix] = NUMBERED_FILE.exec(name) ?? [];
    if (prefix === undefined) continue;
    const path = join(folder, name);
    // The image would follow a link out of the folder, and write there.
    if (!lstatSync(path).isFile()) rmSync(path, { recursive: true });
    else if (name !== prefix + present && !existsSync(join(folder, prefix + present)))
      renameSync(path, join(folder, prefix + present));
  }
}

/** Writes the configurations of the node into its NVRAM. Without a startup configuration the NVRAM stays as it is. */
function loadConfigs(temporary: string, folder: string, applicationId: number, kilobytes: number): void {
  const startup = configIn(folder, STARTUP_CONFIG);
  if (startup.length === 0) return;
  const path = join(folder, nvramName(applicationId));
  const before = existsSync(path) ? readRegularFile(path, LARGEST_NVRAM) : undefined;
  publish(
    temporary,
    path,
    writeNvram(before, kilobytes, { startup, private: configIn(folder, PRIVATE_CONFIG) }),
  );
}

/** Empty when there is no such file. */
function configIn(folder: string, name: string): Buffer {
  const path = join(folder, name);
  const isFile = lstatSync(path, { throwIfNoEntry: false })?.isFile() === true;
  return isFile ? readRegularFile(path, LARGEST_NVRAM) : Buffer.alloc(0);
}

/** An empty configuration replaces none: an image that has not written one yet has an empty one. */
function saveConfig(temporary: string, path: string, content: Buffer): boolean {
  if (content.length === 0) return false;
  const found = lstatSync(path, { throwIfNoEntry: false });
  if (
    found?.isFile() === true &&
    found.size === content.length &&
    readRegularFile(path, LARGEST_NVRAM).equals(content)
  )
    return false;
  publish(temporary, path, content);
  return true;
}

function writeLicense({ folder, name, content }: IouStart['license']): string | undefined {
  if (content === '') return undefined;
  mkdirSync(folder, { recursive: true, mode: FOLDER_MODE });
  const path = join(folder, name);
  rmSync(path, { force: true });
  writeFileSync(path, content.endsWith('\n') ? content : `${content}\n`, { mode: SECRET_MODE, flag: 'wx' });
  return path;
}
