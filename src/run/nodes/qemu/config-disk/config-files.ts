/** The files of a configuration disk: what is in `config.zip`, and what the guest sees. */
import { refusals } from '../../../../base/errors/errors.js';

/** The contents by their paths, with slashes between the parts. A folder exists when a file lies in it. */
export type ConfigFiles = ReadonlyMap<string, Buffer>;

/** The files beside the disks of a node. */
export const CONFIG_ARCHIVE = 'config.zip';
export const CONFIG_DISK = 'config.img';

export const DISK_BYTES = 1024 * 1024;
const MOST_FILES = 1024;
const DEEPEST = 8;
/** The names that a file or a folder on such a disk can have. */
const NAME = /^(?!\.{1,2}$)[^\p{Cc}\p{Cs}"*/:<>?\\|]{1,255}(?<![. ])$/u;

/** Collects files. Refuses (409) what no disk can have: `source` is what the files come from. */
export class ConfigCollector {
  readonly files = new Map<string, Buffer>();
  readonly #source: string;
  readonly #names = new Set<string>();
  #bytes = 0;

  constructor(source: string) {
    this.#source = source;
  }

  add(path: string, content: Buffer): void {
    const parts = path.split('/');
    if (parts.length > DEEPEST || !parts.every((part) => NAME.test(part)))
      throw this.refusal('it has a name that a disk cannot have');
    // A disk does not tell capital letters apart.
    const folded = path.toLowerCase();
    const isTwice = this.#names.has(folded);
    this.#names.add(folded);
    this.#bytes += content.length;
    if (isTwice) throw this.refusal('it has two files of one name');
    if (this.files.size === MOST_FILES || this.#bytes > DISK_BYTES)
      throw this.refusal(`a disk has room for ${MOST_FILES} files of 1 MiB together`);
    this.files.set(path, content);
  }

  refusal(reason: string): Error {
    return refusals.diskRefused(this.#source, reason);
  }
}
