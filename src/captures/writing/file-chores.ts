/** What is done to the files of captures beside the loops, because the disk may take its time. */
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
