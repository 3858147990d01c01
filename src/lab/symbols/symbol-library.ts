/** The symbols that nodes are drawn with: the built-in ones, and those in the folder of custom symbols. */
import { refusals } from '../../base/errors/errors.js';
import type { TaskRunner } from '../../base/threads/task-pool.js';
import { BUILTIN_SYMBOLS, findBuiltinSymbol, type BuiltinSymbol } from './builtin-symbols.js';
import { DEFAULT_SYMBOLS } from './default-symbols.js';
import { isPictureName, type ImageSize } from './image-size.js';
import { drawSymbol } from './symbol-drawing.js';
import type { SymbolTasks } from './symbol-tasks.js';

const CUSTOM_THEME = 'Custom symbols';
const FALLBACK = ':/symbols/classic/computer.svg';
const LARGEST = 1024 * 1024;
const MOST_CUSTOM = 10_000;

interface SymbolEntry {
  readonly builtin: boolean;
  readonly filename: string;
  readonly symbol_id: string;
  readonly theme: string;
}

/** A symbol's picture: drawn by us, or a file of the custom folder. */
type SymbolPicture = { readonly svg: string } | { readonly file: string };

interface CustomSymbol {
  /** Begins with the first request for the size. */
  reading?: Promise<ImageSize | undefined>;
  /** Undefined until it has been read, and when it cannot be found out. */
  size?: ImageSize | undefined;
}

export class SymbolLibrary {
  readonly folder: string;
  /** The largest custom symbol, in bytes. */
  readonly largest = LARGEST;
  readonly #files: TaskRunner<SymbolTasks>;
  readonly #custom = new Map<string, CustomSymbol>();

  constructor(folder: string, files: TaskRunner<SymbolTasks>) {
    this.folder = folder;
    this.#files = files;
  }

  async start(): Promise<void> {
    const names = await this.#files.run('listSymbols', { folder: this.folder, most: MOST_CUSTOM });
    for (const name of names) this.#custom.set(name, {});
  }

  list(): SymbolEntry[] {
    const builtin = BUILTIN_SYMBOLS.map(({ filename, symbol_id, theme }) => ({
      builtin: true,
      filename,
      symbol_id,
      theme,
    }));
    const custom = [...this.#custom.keys()].map((name) => ({
      builtin: false,
      filename: name.slice(name.lastIndexOf('/') + 1),
      symbol_id: name,
      theme: CUSTOM_THEME,
    }));
    return [...builtin, ...custom].sort((a, b) => (a.theme < b.theme ? -1 : a.theme > b.theme ? 1 : 0));
  }

  defaults(): typeof DEFAULT_SYMBOLS {
    return DEFAULT_SYMBOLS;
  }

  /** Never fails: an unknown symbol looks like a computer. */
  picture(id: string): SymbolPicture {
    if (this.#custom.has(id)) return { file: id };
    return { svg: drawSymbol(builtinOrFallback(id)) };
  }

  /** Undefined for a custom symbol whose size cannot be read. */
  async size(id: string): Promise<ImageSize | undefined> {
    const custom = this.#custom.get(id);
    if (custom === undefined) return sizeOf(builtinOrFallback(id));
    custom.reading ??= this.#files.run('readSymbolSize', {
      folder: this.folder,
      name: id,
      largest: this.largest,
    });
    try {
      custom.size = await custom.reading;
    } catch (error) {
      delete custom.reading;
      throw error;
    }
    return custom.size;
  }

  /** The size of a node with this symbol. Call it after `size` has answered. */
  nodeSize(id: string): ImageSize {
    const known = this.#custom.has(id) ? this.#custom.get(id)?.size : sizeOf(builtinOrFallback(id));
    return known ?? sizeOf(builtinOrFallback(FALLBACK));
  }

  /** Refuses (400) a file name that no picture has: it would not be found again. Refuses (409) one symbol too many. */
  checkName(name: string): void {
    if (!isPictureName(name)) throw refusals.symbolNameRefused();
    if (!this.#custom.has(name) && this.#custom.size >= MOST_CUSTOM)
      throw refusals.tooManySymbols(MOST_CUSTOM);
  }

  /** To be called when a picture was added to the folder or replaced. */
  added(name: string): void {
    this.#custom.set(name, {});
  }
}

function sizeOf({ width, height }: BuiltinSymbol): ImageSize {
  return { width, height };
}

function builtinOrFallback(id: string): BuiltinSymbol {
  const symbol = findBuiltinSymbol(id) ?? findBuiltinSymbol(FALLBACK);
  if (symbol === undefined) throw new Error(`${FALLBACK} is not in the catalogue`);
  return symbol;
}
