/** Adds text to a log file, for a thread of its own: the disk of a log may be full, or hang. */
import { closeSync, constants, fstatSync, ftruncateSync, openSync } from 'node:fs';
import type { TaskTable } from '../threads/task.js';
import { writeWhole } from './published-file.js';

const APPEND = constants.O_WRONLY | constants.O_CREAT | constants.O_NONBLOCK | constants.O_NOCTTY;

export interface LogTasks extends TaskTable {
  /** The file is opened by its name each time, so one that was renamed or removed is made anew. A task that fails adds nothing. */
  readonly appendLog: (input: { path: string; text: string }) => void;
}

export const logTasks: LogTasks = {
  appendLog({ path, text }) {
    const fd = openSync(path, APPEND, 0o640);
    try {
      const status = fstatSync(fd);
      if (!status.isFile()) throw new Error('it is no regular file');
      try {
        writeWhole(fd, Buffer.from(text), status.size);
      } catch (error) {
        ftruncateSync(fd, status.size);
        throw error;
      }
    } finally {
      closeSync(fd);
    }
  },
};
