/** The tasks that make one archive, until it is complete or given up. Runs in the HTTP thread. */
import type { TaskRunner } from '../../base/threads/task-pool.js';
import type { BodyPart, PackedPart } from '../archives/member-parts.js';
import type { ZipCursor, ZipPiece } from '../archives/zip-cursor.js';
import type { PieceTasks } from './export-tasks.js';
import type { PieceRooms } from './piece-rooms.js';

interface ArchiveMakingOptions {
  readonly pieces: TaskRunner<PieceTasks>;
  readonly rooms: PieceRooms;
  readonly first: ZipCursor;
  readonly warn: (message: string) => void;
  /** Called when the client has taken something. */
  readonly onMoved: () => void;
  /** Called once, when no task runs any more. */
  readonly onEnded: () => Promise<void>;
}

/** The result of a task, with the memory that has its bytes. */
export type InRoom<Made> = Made & { readonly room: SharedArrayBuffer };

export class ArchiveMaking {
  readonly first: ZipCursor;
  readonly #options: ArchiveMakingOptions;
  readonly #underWay = new Set<Promise<unknown>>();
  /** With bytes that are being made or sent. */
  readonly #rooms = new Set<SharedArrayBuffer>();
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

  async piece(cursor: ZipCursor): Promise<InRoom<ZipPiece>> {
    const room = this.#takeRoom();
    const piece = await this.run('exportPiece', { cursor, room });
    for (const warning of piece.warnings) this.#options.warn(warning);
    return { ...piece, room };
  }

  async packedPart(part: BodyPart): Promise<InRoom<PackedPart>> {
    const room = this.#takeRoom();
    return { ...(await this.run('packPart', { ...part, room })), room };
  }

  /** Call it when the bytes in the room have been sent; the end of the archive does so for all rooms. */
  leaveRoom(room: SharedArrayBuffer): void {
    if (this.#rooms.delete(room)) this.#options.rooms.giveBack(room);
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

  #takeRoom(): SharedArrayBuffer {
    this.checkOpen();
    const room = this.#options.rooms.take();
    this.#rooms.add(room);
    return room;
  }

  async #end(): Promise<void> {
    const { pieces, first: cursor, onEnded } = this.#options;
    await Promise.allSettled(this.#underWay);
    for (const room of this.#rooms) this.leaveRoom(room);
    await pieces.run('dropCursor', { cursor }).catch(() => undefined);
    await onEnded();
  }
}
