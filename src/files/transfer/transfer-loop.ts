/**
 * A loop that writes or digests uploads in turn, as their slabs come in, in a thread of its own. An upload that cannot be
 * written is reported; the others go on.
 */
import { closeSync, constants, fstatSync, ftruncateSync, openSync } from 'node:fs';
import { dirname } from 'node:path';
import { IntRing } from '../../base/memory/int-ring.js';
import { slabView } from '../../base/memory/transfer-memory.js';
import type { LoopMessage } from '../../base/threads/loop-run.js';
import { type LoopWork, runLoop } from '../../base/threads/loop-task.js';
import { failureOf, valueOf, type TaskFailure } from '../../base/threads/task.js';
import { Growth, setDiskFloor } from '../../base/disk/disk-floor.js';
import { discardFile, type UnpublishedFile } from '../../base/disk/published-file.js';
import { DigestedParts } from './digested-parts.js';
import { UnwrittenContent } from './unwritten-content.js';
import { ContentWriter } from './content-writer.js';
import { DirectFile } from './direct-file.js';
import { DiskQueue } from '../../base/disk/disk-queue.js';
import { createForLanding } from './file-place.js';
import { slabBytes } from './slabs.js';
import type {
  AppendStream,
  BeginStream,
  BesideStream,
  OpenPart,
  StreamName,
  TransferLoopOptions,
  TransferReport,
  TransferStart,
  Written,
} from './transfer-orders.js';

interface Stream {
  readonly writer: Pick<ContentWriter, 'take' | 'finish' | 'close'>;
  /** Closes the file when the stream is over, and deletes an unfinished one. */
  readonly leave: (isFinished: boolean) => void;
  readonly waiting: { readonly slab: number; readonly length: number }[];
  /** Whether the bytes that came are kept when the stream is dropped. */
  readonly isKept: boolean;
  failure: TaskFailure | undefined;
}

/** How many slabs of one stream are written in its turn. */
const SLABS_A_TURN = 4;
/** Without waiting, in case a FIFO lies in the place of the file. */
const APPEND = constants.O_WRONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK;
/** Orders wait this long at most, and the heartbeat shows that the loop lives even when the disk is slow. */
const ROUND_MS = 20;

export class TransferLoop implements LoopWork {
  readonly #slabs: Uint8Array;
  readonly #queue: DiskQueue | undefined;
  readonly #filled: IntRing;
  readonly #done: IntRing;
  readonly #told: Int32Array;
  readonly #report: (report: TransferReport) => void;
  readonly #streams = new Map<number, Stream>();
  readonly #parts = new DigestedParts();
  /** The streams with waiting slabs, in the order of their turns. */
  readonly #busy = new Set<number>();
  /** The slabs of streams whose `begin` has not arrived yet, or has failed. */
  readonly #early = new Map<number, { slab: number; length: number }[]>();

  constructor({ slabs, rings }: TransferLoopOptions, report: (report: TransferReport) => void) {
    this.#slabs = slabBytes(slabs);
    this.#queue = DiskQueue.open(slabs);
    this.#filled = new IntRing(rings.filled);
    this.#done = new IntRing(rings.done);
    this.#told = new Int32Array(rings.told);
    this.#report = report;
  }

  readonly tasks = {
    begin: ({ stream, place, size, mode, digests }: BeginStream): UnpublishedFile => {
      const { file, present, growth } = createForLanding(place, size, mode);
      try {
        // A present file is compared first, so there may be nothing to write.
        const isNew = present === undefined;
        const direct = isNew ? DirectFile.create(file.fd, size, this.#queue, growth) : undefined;
        const ways = { present, direct, growth };
        this.#add(stream, new ContentWriter(file.fd, 0, digests, ways), false, (isFinished) => {
          if (!isFinished) discardFile(file);
        });
      } catch (error) {
        discardFile(file);
        throw error;
      }
      return file;
    },

    append: ({ stream, path, position, size, digests }: AppendStream): OpenPart => {
      const fd = openSync(path, APPEND);
      try {
        const found = fstatSync(fd);
        if (!found.isFile() || found.size < position)
          throw new Error('a part of this upload is missing on the disk');
        ftruncateSync(fd, position);
      } catch (error) {
        closeSync(fd);
        throw error;
      }
      const growth = new Growth(dirname(path));
      const direct = DirectFile.append(fd, size - position, growth);
      this.#add(stream, new ContentWriter(fd, position, digests, { direct, growth }), true, () => {
        closeSync(fd);
      });
      return { fd, path };
    },

    digest: ({ stream, digests, part }: BesideStream): void => {
      const content = part === undefined ? new UnwrittenContent(digests) : this.#parts.goOn(part, digests);
      this.#add(stream, content, part !== undefined, () => undefined);
    },

    finish: ({ stream }: StreamName): Written => {
      const found = this.#takeAway(stream, true);
      if (found === undefined) throw new Error('there is no such upload');
      const { writer, failure, leave } = found;
      try {
        if (failure !== undefined) valueOf({ failure });
        const written = writer.finish();
        leave(true);
        return written;
      } catch (error) {
        leave(false);
        throw error;
      } finally {
        writer.close();
      }
    },

    drop: ({ stream }: StreamName): void => {
      const found = this.#takeAway(stream, false);
      found?.writer.close();
      found?.leave(false);
    },
  };

  round(now: number): number {
    this.#queue?.reap(false);
    this.#collect();
    for (const name of this.#busy) {
      this.#busy.delete(name);
      const stream = this.#streams.get(name);
      // A stream that is added again comes last in this very iteration.
      if (stream !== undefined && this.#work(name, stream)) this.#busy.add(name);
      if (performance.now() >= now + ROUND_MS) break;
    }
    if (this.#busy.size > 0) return 0;
    if (this.#queue === undefined || this.#queue.underWay === 0) return Infinity;
    this.#queue.reap(true);
    return 0;
  }

  /** Drops all unfinished streams. */
  finish(): void {
    for (const stream of this.#streams.keys()) this.tasks.drop({ stream });
  }

  #add(name: number, writer: Stream['writer'], isKept: boolean, leave: Stream['leave']): void {
    const waiting = this.#early.get(name) ?? [];
    this.#early.delete(name);
    this.#streams.set(name, { writer, leave, waiting, isKept, failure: undefined });
    if (waiting.length > 0) this.#busy.add(name);
  }

  /** Removes a stream, after its waiting slabs have been written if they are kept. */
  #takeAway(name: number, isWanted: boolean): Stream | undefined {
    this.#collect();
    this.#busy.delete(name);
    for (const { slab, length } of this.#early.get(name) ?? []) this.#giveBack(name, slab, length);
    this.#early.delete(name);
    const stream = this.#streams.get(name);
    if (stream === undefined) return undefined;
    if (isWanted || stream.isKept) while (stream.waiting.length > 0) this.#work(name, stream);
    else for (const { slab, length } of stream.waiting) this.#giveBack(name, slab, length);
    this.#streams.delete(name);
    return stream;
  }

  /** Sorts new slabs by stream. */
  #collect(): void {
    while (this.#filled.pull(this.#sort)) continue;
  }

  readonly #sort = (name: number, slab: number, length: number): void => {
    const stream = this.#streams.get(name);
    if (stream !== undefined) this.#busy.add(name);
    const known = stream?.waiting ?? this.#early.get(name);
    if (known === undefined) this.#early.set(name, [{ slab, length }]);
    else known.push({ slab, length });
  };

  /** Returns whether there is more to write. */
  #work(name: number, stream: Stream): boolean {
    for (let count = 0; count < SLABS_A_TURN; count++) {
      const next = stream.waiting[0];
      if (next === undefined) return false;
      const { slab, length } = next;
      if (!this.#write(name, stream, slab, length)) return true;
      stream.waiting.shift();
    }
    return stream.waiting.length > 0;
  }

  #write(name: number, stream: Stream, slab: number, length: number): boolean {
    const onWritten = (error?: Error): void => {
      if (error !== undefined) this.#fail(name, stream, error);
      this.#giveBack(name, slab, length);
    };
    try {
      if (stream.failure === undefined) {
        return stream.writer.take(slabView(this.#slabs, slab, 0, length), onWritten);
      }
      onWritten();
    } catch (error) {
      onWritten(error instanceof Error ? error : new Error(String(error)));
    }
    return true;
  }

  /** Reports the first failure of a stream. */
  #fail(name: number, stream: Stream, error: Error): void {
    if (stream.failure !== undefined) return;
    stream.failure = failureOf(error);
    this.#report({ kind: 'trouble', stream: name, failure: stream.failure });
  }

  #giveBack(name: number, slab: number, length: number): void {
    this.#done.push(name, slab, length);
    if (Atomics.exchange(this.#told, 0, 1) === 0) this.#report({ kind: 'done' });
  }
}

/** The task of a transfer thread. */
export function runTransfers({ floor, ...start }: TransferStart): void {
  setDiskFloor(floor);
  const loop = new TransferLoop(start, (report) => {
    const message: LoopMessage<TransferReport> = { kind: 'report', report };
    start.orders.postMessage(message);
  });
  runLoop(start, loop);
}
