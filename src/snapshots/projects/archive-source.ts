/**
 * An archive on its way to a client, made while it is sent. One piece is made ahead, so the client never waits for more
 * than a piece; no thread waits for the client.
 */
import type { TaskRunner } from '../../base/threads/task-pool.js';
import type { ZipCursor, ZipPiece } from '../archives/zip-pieces.js';
import type { BegunArchive, PieceTasks } from './export-tasks.js';

export interface ArchiveSourceOptions {
  readonly pieces: TaskRunner<PieceTasks>;
  readonly warn: (message: string) => void;
  /** The client asks for more: it has what was sent before. */
  readonly onMoved: () => void;
  /** Called once, when nothing more is made of it. */
  readonly onEnded: () => Promise<void>;
}

/** As streams take their sources. */
export class ArchiveSource {
  readonly #options: ArchiveSourceOptions;
  #cursor: ZipCursor | undefined;
  /** Undefined at the end. */
  #ahead: Promise<ZipPiece> | undefined;
  #isMaking = false;
  /** When the client asked for something, or could have. */
  #movedAt = 0;
  #isClosed = false;

  private constructor(begun: BegunArchive, options: ArchiveSourceOptions) {
    this.#options = options;
    for (const warning of begun.warnings) options.warn(warning);
    this.#goOn(begun.cursor);
  }

  /** With its first piece: what is wrong from the start can still be told. */
  static async begin(begun: BegunArchive, options: ArchiveSourceOptions): Promise<ArchiveSource> {
    const source = new ArchiveSource(begun, options);
    try {
      await source.#ahead;
      return source;
    } catch (error) {
      source.#isClosed = true;
      await source.#end();
      throw error;
    }
  }

  /** For how long its client has left alone what is ready for it. */
  get stalledMs(): number {
    return this.#isMaking ? 0 : performance.now() - this.#movedAt;
  }

  /** Throws when it was closed: the client must not take what it has for the whole. */
  next(): 'over' | Promise<Uint8Array> {
    if (this.#isClosed) throw new Error('the archive was closed before its end');
    this.#movedAt = performance.now();
    this.#options.onMoved();
    return this.#ahead === undefined ? 'over' : this.#take(this.#ahead);
  }

  onReady(): void {
    // It is always ready.
  }

  close(): void {
    if (this.#isClosed) return;
    this.#isClosed = true;
    void this.#end();
  }

  async #take(ahead: Promise<ZipPiece>): Promise<Uint8Array> {
    const { bytes, cursor, warnings } = await ahead;
    for (const warning of warnings) this.#options.warn(warning);
    this.#ahead = undefined;
    if (cursor === undefined) this.#cursor = undefined;
    else if (!this.#isClosed) this.#goOn(cursor);
    return bytes;
  }

  #goOn(cursor: ZipCursor): void {
    this.#cursor = cursor;
    this.#isMaking = true;
    this.#ahead = this.#options.pieces.run('exportPiece', { cursor }).finally(() => {
      this.#isMaking = false;
      this.#movedAt = performance.now();
    });
    // Whoever takes it is told.
    this.#ahead.catch(() => undefined);
  }

  async #end(): Promise<void> {
    const { pieces, onEnded } = this.#options;
    await this.#ahead?.catch(() => undefined);
    if (this.#cursor !== undefined) {
      await pieces.run('dropCursor', { cursor: this.#cursor }).catch(() => undefined);
    }
    await onEnded();
  }
}
