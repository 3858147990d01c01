/** This host as one for QEMU: its programs, its KVM, and folders for the sockets of guests. Runs in a file thread. */
import {
  closeSync,
  constants,
  existsSync,
  fstatSync,
  lchownSync,
  mkdirSync,
  mkdtempSync,
  openSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  rmSync,
  statSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join, resolve } from 'node:path';
import { systemCode } from '../../../base/errors/errors.js';
import type { TaskTable } from '../../../base/threads/task.js';
import { SYSTEM_PATH } from '../../keeper/program.js';

const SYSTEM_PREFIX = 'qemu-system-';
const IMAGE_TOOL = 'qemu-img';
const OWN_FOLDER = 0o700;
/** The address of a Unix socket has no room for a longer path. */
const LONGEST_SOCKET_PATH = 107;
/** Sockets of a guest have names of at most so many bytes. */
const LONGEST_SOCKET_NAME = 16;
/** Memory that only looks like a file. */
const MEMORY = '/memfd:';
const O_PATH = 0o10000000;
const KVM_DEVICE = '/dev/kvm';
const KVM_MODULES = ['kvm_intel', 'kvm_amd'];

interface QemuPrograms {
  /** The platforms of the programs that were found. */
  readonly platforms: readonly string[];
  readonly hasImageTool: boolean;
}

export interface QemuHostTasks extends TaskTable {
  readonly findQemu: (input: undefined) => QemuPrograms;
  /** Why this host has no KVM that works; undefined when it has. */
  readonly kvmFault: (input: undefined) => string | undefined;
  /** Removes what an earlier life of the server has left below the folder, and nobody uses. Call it before the next one. */
  readonly clearSocketFolders: (input: { root: string; except: readonly string[] }) => void;
  /**
   * Makes a folder for the sockets of a guest, open to this user only: below the root, or among the temporary files of
   * the host when no socket could have the path.
   */
  readonly makeSocketFolder: (input: { root: string }) => string;
  /** Removes a socket, or a folder of them. */
  readonly removeSockets: (input: { path: string }) => void;
  /** Lets the user of a folder, for whom a program of an earlier server runs, connect to a new socket in it. */
  readonly giveSocket: (input: { path: string }) => void;
  /** A descriptor that stands for the socket at the path, to connect to. Throws for anything else, such as a link. */
  readonly holdSocket: (input: { path: string }) => number;
  readonly releaseSocket: (input: { descriptor: number }) => void;
  readonly isThere: (input: { path: string }) => boolean;
  /** The paths of the files and disks that a process has open. None on a host that does not tell. */
  readonly openedFiles: (input: { pid: number }) => string[];
}

export const qemuHostTasks: QemuHostTasks = {
  findQemu() {
    const names = new Set(SYSTEM_PATH.split(':').flatMap(namesIn));
    const programs = [...names].filter((name) => name.startsWith(SYSTEM_PREFIX));
    return {
      platforms: programs.map((name) => name.slice(SYSTEM_PREFIX.length)).sort(),
      hasImageTool: names.has(IMAGE_TOOL),
    };
  },

  holdSocket({ path }) {
    const descriptor = openSync(path, O_PATH | constants.O_NOFOLLOW);
    if (fstatSync(descriptor).isSocket()) return descriptor;
    closeSync(descriptor);
    throw new Error(`${path} is no socket`);
  },

  releaseSocket({ descriptor }) {
    closeSync(descriptor);
  },

  openedFiles({ pid }) {
    const folder = `/proc/${pid}/fd`;
    if (!existsSync('/proc/self/fd')) return [];
    const links = readdirSync(folder).map((name) => join(folder, name));
    const files = links.filter((link) => {
      const found = statSync(link, { throwIfNoEntry: false });
      return found?.isFile() === true || found?.isBlockDevice() === true;
    });
    return files.map((link) => readlinkSync(link)).filter((path) => !path.startsWith(MEMORY));
  },

  kvmFault() {
    try {
      closeSync(openSync(KVM_DEVICE, constants.O_RDWR));
    } catch (error) {
      return `${KVM_DEVICE} cannot be opened (${systemCode(error) ?? 'unknown'})`;
    }
    // A paravirtual KVM opens, and boots no common kernel.
    const isX86 = process.arch === 'x64' || process.arch === 'ia32';
    if (!isX86 || KVM_MODULES.some((name) => existsSync(`/sys/module/${name}`))) return undefined;
    const flags = /^flags\s*:(.*)$/m.exec(readFileSync('/proc/cpuinfo', 'utf8'))?.[1]?.split(' ') ?? [];
    return flags.includes('vmx') || flags.includes('svm')
      ? undefined
      : 'the processor shows no hardware virtualisation';
  },

  clearSocketFolders({ root, except }) {
    for (const name of namesIn(root)) {
      const path = join(resolve(root), name);
      if (!except.includes(path)) rmSync(path, { recursive: true, force: true });
    }
  },

  makeSocketFolder({ root }) {
    mkdirSync(root, { recursive: true, mode: OWN_FOLDER });
    const made = mkdtempSync(join(resolve(root), 'g'));
    // The program of TPMs has no way to write a comma.
    if (Buffer.byteLength(made) + LONGEST_SOCKET_NAME < LONGEST_SOCKET_PATH && !made.includes(','))
      return made;
    rmSync(made, { recursive: true });
    // The name is new and the folder closed, so no other user can put a socket there.
    return mkdtempSync(join(tmpdir(), 'wirefarm-'));
  },

  removeSockets({ path }) {
    rmSync(path, { recursive: true, force: true });
  },

  giveSocket({ path }) {
    const { uid, gid } = statSync(dirname(path));
    lchownSync(path, uid, gid);
  },

  isThere({ path }) {
    return existsSync(path);
  },
};

function namesIn(folder: string): string[] {
  try {
    return readdirSync(folder);
  } catch {
    return [];
  }
}
