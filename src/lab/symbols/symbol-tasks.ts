/** Lists and reads the folder of custom symbols in worker threads. */
import { mkdirSync, readdirSync, rmSync } from 'node:fs';
import { join, relative } from 'node:path';
import type { TaskTable } from '../../base/threads/task.js';
import { containedPath } from '../../base/disk/containment.js';
import { readRegularFile } from '../../base/disk/regular-file.js';
import { imageSize, isPictureName, type ImageSize } from './image-size.js';

export interface SymbolTasks extends TaskTable {
  /** The paths below the folder, which are also the symbols' ids. Only for the start: removes interrupted uploads. */
  readonly listSymbols: (input: { folder: string; most: number }) => string[];
  /** The size of the picture. Undefined when it cannot be read or is larger than a symbol may be. */
  readonly readSymbolSize: (input: {
    folder: string;
    name: string;
    largest: number;
  }) => ImageSize | undefined;
}

export const symbolTasks: SymbolTasks = {
  listSymbols({ folder, most }) {
    mkdirSync(folder, { recursive: true });
    rmSync(join(folder, 'tmp'), { recursive: true, force: true });
    return readdirSync(folder, { recursive: true, withFileTypes: true })
      .filter((entry) => entry.isFile() && isPictureName(entry.name))
      .slice(0, most)
      .map((entry) => relative(folder, join(entry.parentPath, entry.name)))
      .sort();
  },

  readSymbolSize({ folder, name, largest }) {
    try {
      return imageSize(readRegularFile(containedPath(folder, name), largest));
    } catch {
      return undefined;
    }
  },
};
