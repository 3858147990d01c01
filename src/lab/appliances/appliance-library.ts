/**
 * The appliances that clients make templates of: files that people have put into a folder. The folder is read once for
 * each theme of symbols, and again when a client asks for an update.
 */
import type { Logger } from 'pino';
import { refusals } from '../../base/errors/errors.js';
import type { TaskRunner } from '../../base/threads/task-pool.js';
import { DEFAULT_SYMBOLS } from '../symbols/default-symbols.js';
import type { ApplianceTasks } from './appliance-tasks.js';

/** The log names so many damaged files, and counts the others. */
const MOST_NAMED = 20;

interface List {
  hasBegun: boolean;
  readonly text: Promise<string>;
}

export class ApplianceLibrary {
  readonly #folder: string;
  readonly #files: TaskRunner<ApplianceTasks>;
  readonly #log: Logger;
  /** By theme. */
  readonly #lists = new Map<string, List>();
  #last: Promise<unknown> = Promise.resolve();

  constructor(folder: string, files: TaskRunner<ApplianceTasks>, log: Logger) {
    this.#folder = folder;
    this.#files = files;
    this.#log = log;
  }

  /** The appliances as JSON, with symbols of the theme. Refuses (404) an unknown theme. */
  list(theme: string): Promise<string> {
    const symbols = Object.hasOwn(DEFAULT_SYMBOLS, theme) ? DEFAULT_SYMBOLS[theme] : undefined;
    if (symbols === undefined) throw refusals.symbolThemeUnknown(theme);
    const known = this.#lists.get(theme);
    if (known !== undefined) return known.text;
    const list: List = {
      hasBegun: false,
      // One after the other, because requests of others wait for the same threads.
      text: this.#last.then(() => {
        list.hasBegun = true;
        return this.#read(symbols);
      }),
    };
    this.#lists.set(theme, list);
    this.#last = list.text.catch(() => {
      if (this.#lists.get(theme) === list) this.#lists.delete(theme);
    });
    return list.text;
  }

  /** Has the folder read anew. A reading that has not begun will see it as it is. */
  update(): void {
    for (const [theme, { hasBegun }] of this.#lists) if (hasBegun) this.#lists.delete(theme);
  }

  async #read(symbols: Readonly<Record<string, string>>): Promise<string> {
    const { text, leftOut } = await this.#files.run('readAppliances', { folder: this.#folder, symbols });
    for (const { name, reason } of leftOut.slice(0, MOST_NAMED))
      this.#log.warn({ file: name, reason }, 'a file is no appliance, and is left out');
    if (leftOut.length > MOST_NAMED)
      this.#log.warn({ files: leftOut.length }, 'more files are no appliances');
    return text;
  }
}
