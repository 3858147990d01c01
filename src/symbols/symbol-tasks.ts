/** What worker threads do with the folder of custom symbols. */
import { mkdirSync, readdirSync, rmSync } from 'node:fs';
import { join, relative } from 'node:path';
import type { TaskTable } from '../pool/task.js';
import { containedPath } from '../storage/containment.js';
import { readRegularFile } from '../storage/regular-file.js';
import { imageSize, isPictureName, type ImageSize } from './image-size.js';

export interface CustomSymbol {
  /** The path below the folder, which is also the symbol's id. */
  readonly name: string;
  readonly size: ImageSize | undefined;
}

export interface SymbolTasks extends TaskTable {
  /** At start: what a crash has left of uploads is removed. */
  readonly listSymbols: (input: { folder: string }) => CustomSymbol[];
  readonly readSymbolSize: (input: { folder: string; name: string }) => CustomSymbol;
}

const LARGEST_SYMBOL = 16 * 1024 * 1024;
const MOST_SYMBOLS = 10_000;

export const symbolTasks: SymbolTasks = {
  listSymbols({ folder }) {
    mkdirSync(folder, { recursive: true });
    rmSync(join(folder, 'tmp'), { recursive: true, force: true });
    return readdirSync(folder, { recursive: true, withFileTypes: true })
      .filter((entry) => entry.isFile() && isPictureName(entry.name))
      .slice(0, MOST_SYMBOLS)
      .map((entry) => describe(folder, relative(folder, join(entry.parentPath, entry.name))))
      .sort((a, b) => (a.name < b.name ? -1 : 1));
  },

  readSymbolSize: ({ folder, name }) => describe(folder, name),
};

function describe(folder: string, name: string): CustomSymbol {
  try {
    return { name, size: imageSize(readRegularFile(containedPath(folder, name), LARGEST_SYMBOL)) };
  } catch {
    return { name, size: undefined };
  }
}
