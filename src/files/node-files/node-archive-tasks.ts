/** Unpacks a tar archive into the folder of a node. Runs in disk threads of its own. */
import { closeSync, mkdirSync, rmSync } from 'node:fs';
import { dirname, join } from 'node:path';
import type { TaskTable } from '../../base/threads/task.js';
import { containedPath, ownFolder } from '../../base/disk/containment.js';
import { checkGrowth } from '../../base/disk/disk-floor.js';
import { openRegularFile } from '../../base/disk/regular-file.js';
import type { TarContent } from '../../base/disk/tar-content.js';
import { readTar, unpackTar } from '../../base/disk/tar-reading.js';
import { placeFiles, removeWork } from '../../lab/projects/file-placing.js';
import { TEMPORARY } from '../../lab/projects/folder-layout.js';
import type { NodeFile } from './node-folder.js';

interface NodeArchive extends NodeFile {
  /** The name of a file in the temporary folder of the project. */
  readonly archive: string;
  /** The name of a folder there, used by this archive alone. */
  readonly work: string;
}

export interface NodeArchiveTasks extends TaskTable {
  /** Checks the whole archive, then unpacks and syncs it. */
  readonly unpackNodeFiles: (input: NodeArchive) => Promise<void>;
  /** Moves the files to their places, all or none. Folders are merged, and nothing is deleted. */
  readonly placeNodeFiles: (input: NodeArchive) => void;
  /** Removes the archive and the work folder. */
  readonly removeArchive: (input: NodeArchive) => void;
}

export const nodeArchiveTasks: NodeArchiveTasks = {
  async unpackNodeFiles({ root, path, archive, work }) {
    const temporary = ownFolder(root, TEMPORARY);
    const { fd, size } = openRegularFile(containedPath(temporary, archive));
    try {
      const content = await readTar(fd, size);
      checkGrowth(temporary, sizeOf(content));
      const unpacked = join(temporary, work, 'new', path);
      mkdirSync(dirname(unpacked), { recursive: true });
      unpackTar(fd, content, unpacked);
    } finally {
      closeSync(fd);
    }
  },

  placeNodeFiles({ root, folder, work }) {
    placeFiles({ root, work: join(ownFolder(root, TEMPORARY), work), folder });
  },

  removeArchive({ root, archive, work }) {
    const temporary = ownFolder(root, TEMPORARY);
    rmSync(join(temporary, archive), { force: true });
    removeWork(join(temporary, work));
  },
};

function sizeOf({ files }: TarContent): number {
  return [...files.values()].reduce((sum, { size }) => sum + size, 0);
}
