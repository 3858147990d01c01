/**
 * The images that nodes of this server use while they run. A linked clone only reads its image, and any number may; a node
 * without linked clones writes into the image itself.
 */
import { refusals } from '../../../base/errors/errors.js';

interface DiskUse {
  /** The names of the nodes, once for each use. */
  readonly readers: string[];
  writer: string | undefined;
}

export class DiskUses {
  readonly #uses = new Map<string, DiskUse>();
  /** The versions of images that were checked for damages. */
  readonly #checked = new Set<string>();

  /** Refuses (409) an image that another node writes, or one for writing that another node has. Returns what ends the use. */
  begin(path: string, node: string, doing: 'read' | 'write'): () => void {
    const use = this.#uses.get(path) ?? { readers: [], writer: undefined };
    const other = use.writer ?? (doing === 'write' ? use.readers[0] : undefined);
    if (other !== undefined) throw refusals.diskInUse(path, other);
    this.#uses.set(path, use);
    if (doing === 'write') use.writer = node;
    else use.readers.push(node);
    return () => {
      if (doing === 'write') use.writer = undefined;
      else use.readers.splice(use.readers.indexOf(node), 1);
      if (use.writer === undefined && use.readers.length === 0) this.#uses.delete(path);
    };
  }

  /** Whether this version of an image is asked for the first time. */
  isNew(path: string, version: string): boolean {
    const key = `${path}\0${version}`;
    if (this.#checked.has(key)) return false;
    if (this.#checked.size >= MOST_CHECKED) this.#checked.clear();
    this.#checked.add(key);
    return true;
  }
}

const MOST_CHECKED = 10_000;
