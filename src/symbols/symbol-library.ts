/** The symbols that nodes are drawn with: the built-in ones, and those in the folder of custom symbols. */
import { refusals } from '../errors.js';
import type { TaskPool } from '../pool/task-pool.js';
import { BUILTIN_SYMBOLS, findBuiltinSymbol, type BuiltinSymbol } from './builtin-symbols.js';
import { DEFAULT_SYMBOLS } from './default-symbols.js';
import { isPictureName, type ImageSize } from './image-size.js';
import { drawSymbol } from './symbol-drawing.js';
import type { SymbolTasks } from './symbol-tasks.js';

const CUSTOM_THEME = 'Custom symbols';
const FALLBACK = ':/symbols/classic/computer.svg';

export interface SymbolEntry {
  readonly builtin: boolean;
  readonly filename: string;
  readonly symbol_id: string;
  readonly theme: string;
}

/** A symbol's picture: drawn by us, or a file of the custom folder. */
export type SymbolPicture = { readonly svg: string } | { readonly file: string };

export class SymbolLibrary {
  readonly folder: string;
  readonly #files: TaskPool<SymbolTasks>;
  readonly #custom = new Map<string, ImageSize | undefined>();

  constructor(folder: string, files: TaskPool<SymbolTasks>) {
    this.folder = folder;
    this.#files = files;
  }

  async start(): Promise<void> {
    for (const { name, size } of await this.#files.run('listSymbols', { folder: this.folder })) {
      this.#custom.set(name, size);
    }
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
  size(id: string): ImageSize | undefined {
    if (this.#custom.has(id)) return this.#custom.get(id);
    return sizeOf(builtinOrFallback(id));
  }

  /** The size that a node with this symbol gets. */
  nodeSize(id: string): ImageSize {
    return this.size(id) ?? sizeOf(builtinOrFallback(FALLBACK));
  }

  /** Refuses (400) a file name that no picture has: it would not be found again. */
  checkName(name: string): void {
    if (!isPictureName(name)) throw refusals.symbolNameRefused();
  }

  /** A picture was put into the folder. */
  async added(name: string): Promise<void> {
    const { size } = await this.#files.run('readSymbolSize', { folder: this.folder, name });
    this.#custom.set(name, size);
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
