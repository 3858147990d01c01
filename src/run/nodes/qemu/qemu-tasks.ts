/** The files of QEMU nodes. Runs in a file thread. */
import { randomUUID } from 'node:crypto';
import {
  closeSync,
  constants,
  copyFileSync,
  existsSync,
  linkSync,
  lstatSync,
  readdirSync,
  realpathSync,
  rmSync,
  statSync,
} from 'node:fs';
import { join } from 'node:path';
import { containedPath, ownFolder } from '../../../base/disk/containment.js';
import { checkGrowth } from '../../../base/disk/disk-floor.js';
import { makeFolder, renameSynced, syncFolder } from '../../../base/disk/published-file.js';
import { openRegularFile } from '../../../base/disk/regular-file.js';
import { refusals, systemCode } from '../../../base/errors/errors.js';
import type { TaskTable } from '../../../base/threads/task.js';
import { TEMPORARY } from '../../../lab/projects/folder-layout.js';
import { UNFINISHED_FILE } from '../../../files/images/image-name.js';
import { SYSTEM_PATH } from '../../keeper/program.js';
import { isExecutable } from '../../host-tasks.js';
import { readDiskImage, type DiskImage } from './disk-image.js';
import { TPM_FOLDER, type PreparedDisks } from './prepared-disks.js';

/** The folder of a node, below the folder of its project. */
interface NodeFolder {
  readonly root: string;
  readonly folder: string;
}

export interface QemuTasks extends TaskTable {
  /** Makes the folder of a node. Returns its real path. */
  readonly openQemuFolder: (input: NodeFolder) => string;
  /**
   * Checks an image: its real path, and what its head says. With `within`, it must lie in that folder. Refuses (409) an
   * image that lies upon another file.
   */
  readonly inspectImage: (input: { path: string; within: string | undefined }) => DiskImage & {
    readonly path: string;
  };
  /** The real path of a file that is read as it is. With `within`, it must lie in that folder. */
  readonly realImage: (input: { path: string; within: string | undefined }) => string;
  /** Checks an overlay in the folder of a node; undefined when there is none. */
  readonly inspectOverlay: (input: NodeFolder & { name: string }) => DiskImage | undefined;
  /** Returns a new path for a file of the node that is being made. */
  readonly newDiskPath: (input: { root: string }) => string;
  /** Moves the made file to its place in the folder of the node. */
  readonly placeDisk: (input: NodeFolder & { name: string; made: string }) => void;
  readonly removeDisk: (input: { path: string }) => void;
  /** Returns a new path beside a disk that will be made, with room for so many bytes; undefined when the disk is there. */
  readonly beginImage: (input: { folder: string; name: string; bytes: number }) => string | undefined;
  /** Gives the made disk its name; false when another one has it. */
  readonly publishImage: (input: { folder: string; name: string; made: string }) => boolean;
  readonly isDisk: (input: { path: string }) => boolean;
  /** The paths of those of the programs that this host has. */
  readonly findPrograms: (input: { names: readonly string[] }) => string[];
  /** The firmware of this host, and the variables of the node, which are copied once. */
  readonly prepareUefi: (input: NodeFolder & { images: string }) => NonNullable<PreparedDisks['uefi']>;
  /** Makes the folder of the state of a node's TPM. Refuses (403) one with links in it. */
  readonly prepareTpm: (input: NodeFolder) => void;
}

const FIRMWARE = '/usr/share/OVMF';
const PAIRS = [
  { code: 'OVMF_CODE.fd', variables: 'OVMF_VARS.fd' },
  { code: 'OVMF_CODE_4M.fd', variables: 'OVMF_VARS_4M.fd' },
] as const;
const LARGEST_FIRMWARE = 64 * 1024 * 1024;

export const qemuTasks: QemuTasks = {
  openQemuFolder({ root, folder }) {
    return ownFolder(root, folder, true);
  },

  inspectImage({ path: given, within }) {
    const path = realPath(given, within);
    const image = readDiskImage(path);
    if (image.backing !== undefined) {
      throw refusals.diskRefused(given, 'it lies upon another file: a disk must be whole');
    }
    return { ...image, path };
  },

  realImage({ path: given, within }) {
    const path = realPath(given, within);
    closeSync(openRegularFile(path).fd);
    return path;
  },

  inspectOverlay({ root, folder, name }) {
    const path = join(ownFolder(root, folder), name);
    const found = lstatSync(path, { throwIfNoEntry: false });
    if (found === undefined) return undefined;
    if (!found.isFile()) throw refusals.diskRefused(name, 'it is not a file');
    return readDiskImage(path);
  },

  newDiskPath({ root }) {
    const temporary = ownFolder(root, TEMPORARY, true);
    checkGrowth(temporary, 0);
    return join(temporary, `${randomUUID()}.disk`);
  },

  placeDisk({ root, folder, name, made }) {
    renameSynced(made, join(ownFolder(root, folder), name));
  },

  removeDisk({ path }) {
    rmSync(path, { force: true });
  },

  beginImage({ folder, name, bytes }) {
    makeFolder(folder);
    if (lstatSync(join(folder, name), { throwIfNoEntry: false }) !== undefined) return undefined;
    checkGrowth(folder, bytes);
    // Names that begin with a dot are no images.
    return join(folder, `.${randomUUID()}${UNFINISHED_FILE}`);
  },

  publishImage({ folder, name, made }) {
    try {
      // Unlike a rename this replaces nothing.
      linkSync(made, join(folder, name));
    } catch (error) {
      if (systemCode(error) === 'EEXIST') return false;
      throw error;
    }
    syncFolder(folder);
    return true;
  },

  isDisk({ path }) {
    return statSync(path, { throwIfNoEntry: false })?.isFile() === true;
  },

  findPrograms({ names }) {
    return names.flatMap((name) => {
      const folder = SYSTEM_PATH.split(':').find((place) => isExecutable(join(place, name)));
      return folder === undefined ? [] : [join(folder, name)];
    });
  },

  prepareUefi({ root, folder: path, images }) {
    const folder = ownFolder(root, path, true);
    for (const { code, variables } of PAIRS) {
      const own = join(folder, variables);
      if (lstatSync(own, { throwIfNoEntry: false }) === undefined) continue;
      checkFirmware(own);
      return { code: firmwareAt(images, code) ?? missingFirmware(), variables: own };
    }
    const { code, variables } = PAIRS[1];
    const source = firmwareAt(images, variables) ?? missingFirmware();
    const made = join(ownFolder(root, TEMPORARY, true), `${randomUUID()}.disk`);
    copyFileSync(source, made, constants.COPYFILE_FICLONE | constants.COPYFILE_EXCL);
    renameSynced(made, join(folder, variables));
    return { code: firmwareAt(images, code) ?? missingFirmware(), variables: join(folder, variables) };
  },

  prepareTpm({ root, folder }) {
    const state = ownFolder(root, join(folder, TPM_FOLDER), true);
    const hasOther = readdirSync(state, { withFileTypes: true }).some((entry) => !entry.isFile());
    if (hasOther) throw refusals.fileForbidden();
  },
};

function realPath(path: string, within: string | undefined): string {
  return within === undefined ? realpathSync(path) : containedPath(within, path);
}

/** The firmware that the package of this host has, or else the folder of images. */
function firmwareAt(images: string, name: string): string | undefined {
  const installed = join(FIRMWARE, name);
  if (existsSync(installed)) return realpathSync(installed);
  const uploaded = join(images, name);
  if (lstatSync(uploaded, { throwIfNoEntry: false }) === undefined) return undefined;
  checkFirmware(uploaded);
  return uploaded;
}

function missingFirmware(): never {
  throw refusals.packageMissing('boot a machine by UEFI', 'ovmf');
}

function checkFirmware(path: string): void {
  const { fd, size } = openRegularFile(path);
  closeSync(fd);
  if (size > LARGEST_FIRMWARE) throw refusals.fileTooLarge(path, LARGEST_FIRMWARE);
}
