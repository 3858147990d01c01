/** The tasks that make one archive, until it is complete or given up. Runs in the HTTP thread. */
import type { TaskRunner } from '../../base/threads/task-pool.js';
import type { ZipCursor, ZipPiece } from '../archives/zip-cursor.js';
import type { PieceTasks } from './export-tasks.js';

interface ArchiveMakingOptions {
  readonly pieces: TaskRunner<PieceTasks>;
  readonly first: ZipCursor;
  readonly warn: (message: string) => void;
  /** Called when the client has taken something. */
  readonly onMoved: () => void;
  /** Called once, when no task runs any more. */
  readonly onEnded: () => Promise<void>;
}

export class ArchiveMaking {
  readonly first: ZipCursor;
  readonly #options: ArchiveMakingOptions;
  readonly #underWay = new Set<Promise<unknown>>();
  #ending: Promise<void> | undefined;
  #movedAt = performance.now();
  #isWaitedFor = false;

  constructor(options: ArchiveMakingOptions) {
    this.#options = options;
    this.first = options.first;
  }

  /** For how long the client has left what is ready alone. */
  get stalledMs(): number {
    return this.#isWaitedFor ? 0 : performance.now() - this.#movedAt;
  }

  /** The client has taken something, or could go on doing so. */
  moved(): void {
    this.#movedAt = performance.now();
    this.#options.onMoved();
  }

  /** The client waits for this, until it is made. */
  async awaited<Made>(making: Promise<Made>): Promise<Made> {
    this.moved();
    this.#isWaitedFor = true;
    try {
      return await making;
    } finally {
      this.#isWaitedFor = false;
      this.moved();
    }
  }

  /** Throws if it was closed: the client must not take an incomplete archive for a complete one. */
  checkOpen(): void {
    if (this.#ending !== undefined) throw new Error('the archive was closed before its end');
  }

  async piece(cursor: ZipCursor): Promise<ZipPiece> {
    const piece = await this.run('exportPiece', { cursor });
    for (const warning of piece.warnings) this.#options.warn(warning);
    return piece;
  }

  async run<Name extends keyof PieceTasks & string>(
    task: Name,
    input: Parameters<PieceTasks[Name]>[0],
  ): Promise<Awaited<ReturnType<PieceTasks[Name]>>> {
    this.checkOpen();
    const work = this.#options.pieces.run(task, input);
    this.#underWay.add(work);
    try {
      return await work;
    } finally {
      this.#underWay.delete(work);
    }
  }

  /** Waits for the tasks that run, and frees what is held for the archive. */
  close(): Promise<void> {
    this.#ending ??= this.#end();
    return this.#ending;
  }

  async #end(): Promise<void> {
    const { pieces, first: cursor, onEnded } = this.#options;
    await Promise.allSettled(this.#underWay);
    await pieces.run('dropCursor', { cursor }).catch(() => undefined);
    await onEnded();
  }
}
