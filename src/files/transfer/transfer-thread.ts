/** The HTTP thread's side of one transfer loop. When the loop dies, its uploads are lost, and fail with that error. */
import { refusals } from '../../base/errors/errors.js';
import { FreeList } from '../../base/memory/free-list.js';
import { IntRing } from '../../base/memory/int-ring.js';
import { newLoopRings, SLABS } from '../../base/memory/transfer-memory.js';
import type { RunLoop } from '../../base/threads/loop-run.js';
import { LoopDeath, WorkerLoop, type LoopLog } from '../../base/threads/worker-loop.js';
import { Places } from '../../base/threads/places.js';
import { valueOf } from '../../base/threads/task.js';
import type {
  AppendStream,
  BeginStream,
  BesideStream,
  StreamName,
  TransferReport,
  TransferSetup,
} from './transfer-orders.js';

type StreamInput = AppendStream | BeginStream | BesideStream | StreamName;

/** More streams at once could need more than all slabs. */
const MOST_STREAMS = SLABS;
/** A stream that has given way to another keeps its number until the loop has let go of it. */
const NAMES = 2 * MOST_STREAMS;

/** The HTTP thread's end of one stream. */
export interface StreamEnd {
  /** Whether it waits for its client, so that it may be ended for another stream. */
  readonly mayGiveWay: boolean;
  /** The loop is done with the slab. */
  slabDone(slab: number): void;
  /** Nothing more of the stream is written. */
  failed(error: unknown): void;
  /** The loop has died, and uses none of the stream's slabs any more. */
  lost(error: unknown): void;
}

interface TransferThreadOptions extends Pick<TransferSetup, 'slabs' | 'floor'> {
  /** A noun without an article, for the log. */
  readonly name: string;
  readonly run: RunLoop<TransferSetup>;
  readonly log: LoopLog;
}

export class TransferThread {
  readonly #loop: WorkerLoop<TransferSetup, TransferReport>;
  readonly #filled: IntRing;
  readonly #done: IntRing;
  readonly #told: Int32Array;
  readonly #names = new FreeList(NAMES);
  readonly #places = new Places<StreamEnd>({
    count: MOST_STREAMS,
    mayGiveWay: [({ mayGiveWay }) => mayGiveWay],
    gaveWay: (end) => {
      end.failed(refusals.uploadGaveWay());
    },
  });
  readonly #ends = new Map<number, StreamEnd>();
  /** How many slabs the loop has. */
  #underWay = 0;

  constructor({ name, slabs, floor, run, log }: TransferThreadOptions) {
    const rings = newLoopRings();
    this.#filled = new IntRing(rings.filled);
    this.#done = new IntRing(rings.done);
    this.#told = new Int32Array(rings.told);
    this.#loop = new WorkerLoop<TransferSetup, TransferReport>({
      name,
      log,
      run,
      newSetup: () => ({ slabs, rings, floor }),
      // Idle uploads give the loop no work.
      isBusy: () => this.#underWay > 0,
      // Its uploads are lost.
      fate: () => 'lost',
      onReport: (report) => {
        this.#hear(report);
      },
      onDeath: (reason) => ({ uploads: this.#loseAll(reason) }),
    });
  }

  /** How many uploads it has. */
  get load(): number {
    return this.#ends.size;
  }

  /**
   * Returns the number of a new stream. If there are too many, the stream that has been idle for longest gives way;
   * undefined if none may. A stream without a client takes no place, because it belongs to one that has.
   */
  openStream(end: StreamEnd, client: string | undefined): number | undefined {
    const name = this.#names.take();
    if (name === undefined) return undefined;
    if (client === undefined || this.#places.take(end, client)) {
      this.#ends.set(name, end);
      return name;
    }
    this.#names.giveBack(name);
    return undefined;
  }

  /** The stream has brought enough bytes to keep its place before others. */
  gotOn(end: StreamEnd): void {
    this.#places.gotOn(end);
  }

  /** Frees the number of a stream that the loop has let go of. */
  closeStream(name: number): void {
    const end = this.#ends.get(name);
    if (end === undefined) return;
    this.#ends.delete(name);
    this.#places.leave(end);
    this.#names.giveBack(name);
  }

  async ask(task: 'begin' | 'append' | 'digest' | 'finish' | 'drop', input: StreamInput): Promise<unknown> {
    try {
      return await this.#loop.ask({ task, input });
    } catch (error) {
      throw error instanceof LoopDeath ? refusals.uploadLost(error.message) : error;
    }
  }

  /** Has this many bytes of the slab written. */
  push(name: number, slab: number, length: number): void {
    this.#filled.push(name, slab, length);
    this.#underWay++;
    this.#loop.ring();
  }

  tellToEnd(): void {
    this.#loop.tellToEnd();
  }

  close(): Promise<void> {
    return this.#loop.close();
  }

  /** Ends the thread as if it had died. */
  kill(): void {
    this.#loop.kill();
  }

  #hear(report: TransferReport): void {
    if (report.kind === 'trouble') {
      this.#ends.get(report.stream)?.failed(errorOf(() => valueOf({ failure: report.failure })));
      return;
    }
    // Cleared before draining: slabs that are done later raise a new report.
    Atomics.store(this.#told, 0, 0);
    while (this.#done.pull(this.#giveBack)) continue;
  }

  readonly #giveBack = (name: number, slab: number): void => {
    this.#underWay--;
    this.#ends.get(name)?.slabDone(slab);
  };

  /** Returns how many uploads it had. */
  #loseAll(reason: string): number {
    while (this.#done.pull(this.#giveBack)) continue;
    // These slabs still belong to their uploads, which give them back.
    while (this.#filled.pull(() => undefined)) continue;
    this.#underWay = 0;
    Atomics.store(this.#told, 0, 0);
    const lost = [...this.#ends.values()];
    const error = refusals.uploadLost(reason);
    for (const end of lost) end.lost(error);
    return lost.length;
  }
}

function errorOf(failing: () => unknown): unknown {
  try {
    return failing();
  } catch (error) {
    return error;
  }
}
