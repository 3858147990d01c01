/** The files of containers: this server's own, which all of them see, and the persistent folders. Runs in a file thread. */
import {
  chmodSync,
  lstatSync,
  mkdirSync,
  readFileSync,
  renameSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { ownFolder } from '../../../base/disk/containment.js';
import type { TaskTable } from '../../../base/threads/task.js';
import { APPLETS, INIT_SCRIPT, SAVE_SCRIPT } from './container-scripts.js';

const BUSYBOX = '/bin/busybox';
const LARGEST_BUSYBOX = 64 * 1024 * 1024;
/** For the users of images, whatever the umask of this server. */
const EXECUTABLE = 0o755;
/** As X wants the folder of its sockets. */
const SOCKETS_OF_ALL = 0o1777;
/** Where an ELF file of 64 bits says where its segments are, and the segment that names a loader of libraries. */
const ELF = { magic: '\x7fELF', wide: 2, class: 4, segments: 32, size: 54, count: 56, loader: 3 } as const;
/** In the order of their numbers: interfaces, namespaces, and the ends of processes of other users. */
const RIGHTS = [
  ['CAP_KILL', 5],
  ['CAP_NET_ADMIN', 12],
  ['CAP_SYS_PTRACE', 19],
  ['CAP_SYS_ADMIN', 21],
] as const;

export interface DockerTasks extends TaskTable {
  /** The capabilities that the server lacks. */
  readonly missingRights: (input: undefined) => string[];
  /** Whether the host has a busybox that runs in any container. */
  readonly hasStaticBusybox: (input: undefined) => boolean;
  /** Makes the folder of the files that all containers see, or brings it up to date. */
  readonly prepareContainers: (input: { folder: string }) => void;
  /** Makes the folder of a display anew, and in it that of its X socket, which the users of a container can reach. */
  readonly prepareDisplay: (input: { folder: string; sockets: string }) => void;
  /** Makes the persistent folders of a node, and returns their real paths. No part of a path may be a link. */
  readonly prepareVolumes: (input: { root: string; folder: string; paths: readonly string[] }) => string[];
}

export const dockerTasks: DockerTasks = {
  missingRights() {
    const [, mask = '0'] = /^CapEff:\s*([0-9a-f]+)$/m.exec(readFileSync('/proc/self/status', 'utf8')) ?? [];
    const held = BigInt(`0x${mask}`);
    return RIGHTS.filter(([, bit]) => ((held >> BigInt(bit)) & 1n) === 0n).map(([name]) => name);
  },

  hasStaticBusybox() {
    try {
      return isStatic(readFileSync(BUSYBOX));
    } catch {
      return false;
    }
  },

  prepareContainers({ folder }) {
    for (const path of [folder, join(folder, 'bin')]) {
      mkdirSync(path, { recursive: true });
      chmodSync(path, EXECUTABLE);
    }
    if (lstatSync(BUSYBOX).size > LARGEST_BUSYBOX) throw new Error(`${BUSYBOX} is too large`);
    writeOnce(join(folder, 'busybox'), readFileSync(BUSYBOX));
    writeOnce(join(folder, 'init.sh'), Buffer.from(INIT_SCRIPT));
    writeOnce(join(folder, 'save.sh'), Buffer.from(SAVE_SCRIPT));
    for (const name of APPLETS) {
      const link = join(folder, 'bin', name);
      if (lstatSync(link, { throwIfNoEntry: false }) === undefined) symlinkSync('../busybox', link);
    }
  },

  prepareDisplay({ folder, sockets }) {
    rmSync(folder, { recursive: true, force: true });
    mkdirSync(sockets, { recursive: true });
    chmodSync(sockets, SOCKETS_OF_ALL);
  },

  prepareVolumes({ root, folder, paths }) {
    ownFolder(root, folder, true);
    return paths.map((path) => ownFolder(root, join(folder, path), true));
  },
};

/** Running containers may have the file in use, so it is replaced and not written. */
function writeOnce(path: string, bytes: Buffer): void {
  const found = lstatSync(path, { throwIfNoEntry: false });
  if (found?.isFile() === true && found.size === bytes.length && readFileSync(path).equals(bytes)) return;
  const temporary = `${path}.new`;
  rmSync(temporary, { force: true });
  writeFileSync(temporary, bytes);
  chmodSync(temporary, EXECUTABLE);
  renameSync(temporary, path);
}

function isStatic(file: Buffer): boolean {
  if (file.toString('latin1', 0, 4) !== ELF.magic || file[ELF.class] !== ELF.wide) return false;
  const start = Number(file.readBigUInt64LE(ELF.segments));
  const size = file.readUInt16LE(ELF.size);
  const count = file.readUInt16LE(ELF.count);
  return Array.from({ length: count }, (_, index) => file.readUInt32LE(start + index * size)).every(
    (type) => type !== ELF.loader,
  );
}
