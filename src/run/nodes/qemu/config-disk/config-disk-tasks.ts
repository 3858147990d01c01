/**
 * The configuration disk of a QEMU node: its files are in `config.zip`, and on the disk while the node runs. Runs in a file
 * thread.
 */
import { existsSync, lstatSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { ownFolder } from '../../../../base/disk/containment.js';
import { publishBytes } from '../../../../base/disk/published-file.js';
import { readRegularFile } from '../../../../base/disk/regular-file.js';
import { isRefusal } from '../../../../base/errors/errors.js';
import type { TaskTable } from '../../../../base/threads/task.js';
import { TEMPORARY, VM_STATE } from '../../../../lab/projects/folder-layout.js';
import { CONFIG_ARCHIVE, CONFIG_DISK, DISK_BYTES, type ConfigFiles } from './config-files.js';
import { readConfigZip, writeConfigZip } from './config-zip.js';
import { filesOf } from './fat-reading.js';
import { diskWith } from './fat-writing.js';

/** The folder of a node, below the folder of its project. */
interface NodeFolder {
  readonly root: string;
  readonly folder: string;
}

export interface ConfigDiskTasks extends TaskTable {
  /**
   * Makes the disk of the files in the archive of the node, or in `source`, the path of another archive, when the node has
   * none. Returns its path. A disk that a killed server has left is kept before. With `isKept` a guest goes on with the disk
   * that is there.
   */
  readonly makeConfigDisk: (input: NodeFolder & { source: string | undefined; isKept: boolean }) => string;
  /**
   * Puts the files of the disk into the archive, and removes the disk, unless the memory of its guest was saved. Refuses (409)
   * a disk that cannot be read, which then stays. Does nothing when there is none.
   */
  readonly keepConfigDisk: (input: NodeFolder) => void;
}

/** An honest archive is smaller than what is packed in it. */
const LARGEST_ARCHIVE = 4 * DISK_BYTES;

export const configDiskTasks: ConfigDiskTasks = {
  makeConfigDisk({ root, folder: path, source, isKept }) {
    const folder = ownFolder(root, path, true);
    const [disk, archive] = [join(folder, CONFIG_DISK), join(folder, CONFIG_ARCHIVE)];
    if (isKept && changedAt(disk) > 0) return disk;
    const temporary = ownFolder(root, TEMPORARY, true);
    if (changedAt(disk) > changedAt(archive)) keepWhatIsReadable(temporary, folder);
    const read = changedAt(archive) > 0 ? archive : source;
    publishBytes(temporary, disk, diskWith(read === undefined ? new Map() : archived(read)));
    return disk;
  },

  keepConfigDisk({ root, folder: path }) {
    try {
      const folder = ownFolder(root, path);
      keep(ownFolder(root, TEMPORARY, true), folder);
      if (!existsSync(join(folder, VM_STATE))) rmSync(join(folder, CONFIG_DISK), { force: true });
    } catch (error) {
      // A node that is deleted may lose its folder at any time.
      if (!isRefusal(error, 'file_missing')) throw error;
    }
  },
};

/** The time of the last change of a file; 0 if there is no file. */
function changedAt(path: string): number {
  const found = lstatSync(path, { throwIfNoEntry: false });
  return found?.isFile() === true ? found.mtimeMs : 0;
}

function archived(path: string): ConfigFiles {
  return readConfigZip(readRegularFile(path, LARGEST_ARCHIVE));
}

/** The guest may have been in the middle of a change when it was killed: then the archive counts. */
function keepWhatIsReadable(temporary: string, folder: string): void {
  try {
    keep(temporary, folder);
  } catch (error) {
    if (!isRefusal(error, 'disk_refused')) throw error;
  }
}

/** Writes nothing when the guest has changed nothing, so that the archive of a user stays as it is. */
function keep(temporary: string, folder: string): void {
  const [disk, archive] = [join(folder, CONFIG_DISK), join(folder, CONFIG_ARCHIVE)];
  if (changedAt(disk) === 0) return;
  const files = filesOf(readRegularFile(disk, DISK_BYTES));
  const isKnown = changedAt(archive) > 0 && areSame(files, archived(archive));
  if (!isKnown && (files.size > 0 || changedAt(archive) > 0))
    publishBytes(temporary, archive, writeConfigZip(files));
}

function areSame(files: ConfigFiles, others: ConfigFiles): boolean {
  return files.size === others.size && [...files].every(([path, bytes]) => others.get(path)?.equals(bytes));
}
