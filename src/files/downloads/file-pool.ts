/** The file threads, and with them the way to read files for responses. */
import type { TaskTable } from '../../base/threads/task.js';
import { TaskPool, type TaskPoolOptions } from '../../base/threads/task-pool.js';
import type { FileReads } from './file-reads.js';

export class FilePool<Table extends TaskTable> extends TaskPool<Table> {
  readonly reads: FileReads;

  constructor(options: TaskPoolOptions, reads: FileReads) {
    super(options);
    this.reads = reads;
  }
}
