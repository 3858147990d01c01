/** Reads pieces of files in this thread, as late as it is told to. */
import { fileTasks } from '../../src/base/disk/file-tasks.js';
import type { PieceReader } from '../../src/captures/log/log-file.js';

export class PaperReads {
  reads = 0;
  /** Awaited before each read. */
  before: () => Promise<unknown> = () => Promise.resolve();

  readonly run = (async (task: 'readPiece', input: Parameters<typeof fileTasks.readPiece>[0]) => {
    await this.before();
    this.reads++;
    return fileTasks[task](input);
  }) as PieceReader['run'];
}
