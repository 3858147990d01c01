/**
 * Work to be done at certain times, in a heap: every turn asks for the earliest time, and in most turns nothing is due.
 */

/** An entry stays in the schedule from `add` until it is run or removed, and must not change its time meanwhile. */
export interface Due {
  readonly dueAt: number;
  /** Does what is due until then, within bounds. An entry that has more to do adds itself again. */
  run(until: number): void;
}

/** Work that is due within this time is done together, so that the thread wakes up once for all of it. */
export const TOGETHER_MS = 0.1;

export class Schedule {
  /** A binary heap: no entry is due earlier than the one at half its index. Index 0 is not used. */
  readonly #heap: (Due | undefined)[] = [undefined];
  #resting: Due[] = [];

  add(due: Due): void {
    this.#heap.push(due);
    this.#rise(this.#heap.length - 1, due);
  }

  /** Does nothing when the entry is not in the schedule. */
  remove(due: Due): void {
    const index = this.#heap.indexOf(due);
    if (index > 0) this.#takeOut(index);
  }

  /** When the earliest entry is due; Infinity when there is none. */
  get next(): number {
    return this.#heap[1]?.dueAt ?? Infinity;
  }

  /** Runs each entry that is due once, even if it adds itself again. */
  run(now: number): void {
    const until = now + TOGETHER_MS;
    const running = this.#resting;
    this.#resting = [];
    for (let first = this.#heap[1]; first !== undefined && first.dueAt <= until; first = this.#heap[1]) {
      this.#takeOut(1);
      running.push(first);
    }
    for (const due of running) due.run(until);
    running.length = 0;
    this.#resting = running;
  }

  #takeOut(index: number): void {
    const last = this.#heap.pop();
    if (last === undefined || index === this.#heap.length) return;
    this.#sink(index, last);
    if (this.#heap[index] === last) this.#rise(index, last);
  }

  #rise(from: number, due: Due): void {
    let index = from;
    for (let above = index >> 1; above > 0; above = index >> 1) {
      const upper = this.#heap[above];
      if (upper === undefined || upper.dueAt <= due.dueAt) break;
      this.#heap[index] = upper;
      index = above;
    }
    this.#heap[index] = due;
  }

  #sink(from: number, due: Due): void {
    let index = from;
    for (;;) {
      let below = 2 * index;
      const left = this.#heap[below];
      const right = this.#heap[below + 1];
      let lower = left;
      if (left !== undefined && right !== undefined && right.dueAt < left.dueAt) {
        lower = right;
        below++;
      }
      if (lower === undefined || lower.dueAt >= due.dueAt) break;
      this.#heap[index] = lower;
      index = below;
    }
    this.#heap[index] = due;
  }
}
