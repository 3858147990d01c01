/** Syncs and closes the files of captures in a thread beside the loops, because it may wait long for the disk. */
import { closeSync, fdatasyncSync } from 'node:fs';
import type { TaskTable } from '../../base/threads/task.js';

export interface FileChores extends TaskTable {
  readonly syncFile: (input: { fd: number }) => void;
  readonly closeFile: (input: { fd: number }) => void;
}

export const fileChores: FileChores = {
  syncFile({ fd }) {
    fdatasyncSync(fd);
  },

  closeFile({ fd }) {
    closeSync(fd);
  },
};
