/** A body of segments, bytes and stretches of files, as the source of a response of known length. */
import type { NamedFile } from '../base/disk/containment.js';
import { FileSource, type FileThreads } from './file-source.js';
import { bytesSource, type PieceSource } from './streams/sized-response.js';

/** Tells the segments of a body one after the other. */
interface SegmentSupply {
  /** Undefined at the end. No segment is empty; its bytes are valid until the next call. */
  next(): Promise<
    Uint8Array | { readonly file: NamedFile; readonly start: number; readonly end: number } | undefined
  >;
  /** Everything before this position of the body has been sent. */
  sent(position: number): void;
  close(): void;
}

/** A segment by its place in the body. */
interface Placed {
  readonly source: PieceSource;
  readonly start: number;
  readonly end: number;
}

export class SegmentSource implements PieceSource {
  readonly #files: FileThreads;
  readonly #supply: SegmentSupply;
  #current: Placed | undefined;
  #isClosed = false;

  constructor(files: FileThreads, supply: SegmentSupply) {
    this.#files = files;
    this.#supply = supply;
  }

  give(position: number, length: number, use: (bytes: Uint8Array) => void): 'given' | Promise<void> {
    this.#supply.sent(position);
    const current = this.#current;
    if (current === undefined || position >= current.end) return this.#goOn(position);
    return current.source.give(position - current.start, Math.min(length, current.end - position), use);
  }

  close(): void {
    this.#isClosed = true;
    this.#current?.source.close();
    this.#supply.close();
  }

  async #goOn(start: number): Promise<void> {
    this.#current?.source.close();
    this.#current = undefined;
    const placed = await this.#next(start);
    if (this.#isClosed) placed.source.close();
    else this.#current = placed;
  }

  async #next(position: number): Promise<Placed> {
    const segment = await this.#supply.next();
    if (segment === undefined) throw new Error('the body is shorter than its length');
    if (segment instanceof Uint8Array) {
      return { source: bytesSource(segment), start: position, end: position + segment.length };
    }
    const { file, start, end } = segment;
    const opened = await this.#files.run('openFile', file);
    const source = new FileSource(this.#files, opened, start, end);
    return { source, start: position, end: position + end - start };
  }
}
