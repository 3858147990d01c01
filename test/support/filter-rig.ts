/** Filters on the bench: frames in as bytes, frames out as bytes with their time, on a clock that the test moves. */
import { COUNTER, type CounterName } from '../../src/base/memory/port-counters.js';
import { Batch, BATCH_FRAMES } from '../../src/engine/forwarding/port.js';
import { matcherOf } from '../../src/engine/wire/bpf.js';
import { FilterChain } from '../../src/engine/filters/filter-chain.js';
import type { FilterStage } from '../../src/engine/filters/filter-plan.js';
import { Schedule } from '../../src/engine/filters/schedule.js';
import { FrameMemory } from '../../src/engine/forwarding/frame-memory.js';
import { PortBooks } from './port-books.js';

const SLAB = 4 * 1024 * 1024;
const WORKSPACE = 2 * 1024 * 1024;
const MOST_RUNS = 1_000_000;

export interface Delivered {
  readonly at: number;
  readonly bytes: Buffer;
}

export class FilterRig {
  now = 1000;
  readonly delivered: Delivered[] = [];
  /** How many frames each delivery had. */
  readonly batches: number[] = [];
  readonly schedule = new Schedule();
  readonly memory: FrameMemory;
  readonly chain: FilterChain;
  readonly #books = new PortBooks(1);
  readonly #port = this.#books.newPort(0);

  constructor(stages: readonly FilterStage[], seed = 1, workspace = WORKSPACE) {
    this.memory = new FrameMemory(new Uint8Array(SLAB + workspace), SLAB);
    this.chain = new FilterChain(stages, {
      way: 'outward',
      matcherOf,
      port: this.#port,
      memory: this.memory,
      schedule: this.schedule,
      seed,
      clock: () => this.now,
      deliverPending: () => {
        this.memory.endTurn();
      },
      deliver: (frames) => {
        this.#take(frames);
      },
    });
  }

  /** All at the same time, in as many batches as it takes. */
  pass(frames: readonly Uint8Array[]): void {
    for (let first = 0; first < frames.length; first += BATCH_FRAMES) {
      this.#passBatch(frames.slice(first, first + BATCH_FRAMES));
    }
  }

  /** Does everything that is due until then, each at its time. */
  advance(to: number): void {
    for (let runs = 0; this.schedule.next <= to; runs++) {
      if (runs === MOST_RUNS) throw new Error('it never comes to an end');
      this.now = Math.max(this.now, this.schedule.next);
      this.schedule.run(this.now);
    }
    this.now = to;
  }

  /** The frames that were delivered since the last call. */
  taken(): Buffer[] {
    return this.delivered.splice(0).map(({ bytes }) => bytes);
  }

  count(name: CounterName): number {
    return this.#books.counter(0, name);
  }

  /** Everything that is not zero, apart from what came in and went out. */
  get counters(): Partial<Record<CounterName, number>> {
    const counters = this.#books.counters(0);
    delete counters.frames_in;
    delete counters.frames_out;
    return counters;
  }

  /** The frames that came in and were neither delivered nor dropped for a cause: they wait. */
  get waiting(): number {
    return this.#books.unaccounted;
  }

  #passBatch(frames: readonly Uint8Array[]): void {
    const batch = new Batch();
    let offset = 0;
    for (const frame of frames) {
      this.memory.bytes.set(frame, offset);
      batch.add(offset, frame.length);
      offset += frame.length;
    }
    this.#port.count(COUNTER.frames_in, batch.count);
    const before = this.memory.bytes.slice(0, offset);
    this.chain.pass(batch);
    if (Buffer.compare(before, this.memory.bytes.subarray(0, offset)) !== 0) {
      throw new Error('frames were written to, and others may hold them');
    }
    this.memory.endTurn();
  }

  #take({ offsets, lengths, count }: Batch): void {
    if (count < 1 || count > BATCH_FRAMES) throw new Error(`a delivery of ${count} frames`);
    this.batches.push(count);
    this.#port.count(COUNTER.frames_out, count);
    for (let index = 0; index < count; index++) {
      const offset = offsets[index] ?? 0;
      const bytes = Buffer.from(this.memory.bytes.slice(offset, offset + (lengths[index] ?? 0)));
      this.delivered.push({ at: this.now, bytes });
    }
  }
}
