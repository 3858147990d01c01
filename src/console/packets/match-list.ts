/** The packets that are shown: all, or those that a filter lets through, found bit by bit. */
import type { FilterTest } from './filter-terms.js';
import type { PacketStore } from './packet-store.js';
import type { PacketView } from './packet-view.js';

/** So many packets are tested between two looks at the clock. */
const STRIDE = 256;

/**
 * Shown packets are counted from 0 on, in order, since the filter was set; a place stays that of its packet when older ones
 * leave. Without a filter the place is the packet's number.
 */
export class MatchList {
  readonly #store: PacketStore;
  readonly #view: PacketView;
  #filter: FilterTest | undefined;
  /** The numbers of packets at their places, modulo the length. */
  readonly #numbers: Float64Array;
  #first = 0;
  #end = 0;
  /** The next packet to be tested. */
  #next = 1;

  constructor(store: PacketStore, view: PacketView) {
    this.#store = store;
    this.#view = view;
    this.#numbers = new Float64Array(store.columns.capacity);
  }

  use(filter: FilterTest | undefined): void {
    this.#filter = filter;
    this.#first = 0;
    this.#end = 0;
    this.#next = this.#store.first;
  }

  get isComplete(): boolean {
    return this.#filter === undefined || this.#next >= this.#store.next;
  }

  /** The share of the packets that has been tested. */
  get progress(): number {
    const { first, next } = this.#store;
    return this.isComplete ? 1 : Math.max(0, this.#next - first) / (next - first);
  }

  /** Tests packets while there is time. */
  advance(hasTime: () => boolean): void {
    const filter = this.#filter;
    if (filter === undefined) return;
    const store = this.#store;
    this.#next = Math.max(this.#next, store.first);
    while (this.#next < store.next && hasTime()) {
      const end = Math.min(store.next, this.#next + (filter.isSlow ? STRIDE / 16 : STRIDE));
      for (; this.#next < end; this.#next++) {
        this.#view.lookAt(this.#next);
        if (filter.matches(this.#view)) this.#numbers[this.#end++ % this.#numbers.length] = this.#next;
      }
    }
  }

  /** The places from the oldest shown packet that is held to behind the newest. */
  get range(): readonly [first: number, end: number] {
    if (this.#filter === undefined) return [this.#store.first, this.#store.next];
    this.#first = Math.max(this.#first, this.#end - this.#numbers.length);
    while (this.#first < this.#end && !this.#store.holds(this.#numberAt(this.#first))) this.#first++;
    return [this.#first, this.#end];
  }

  /** The numbers of the packets at these places, as far as they are held. */
  numbers(from: number, count: number): number[] {
    const [first, end] = this.range;
    const found: number[] = [];
    for (let place = Math.max(first, from); place < Math.min(end, from + count); place++)
      found.push(this.#filter === undefined ? place : this.#numberAt(place));
    return found;
  }

  #numberAt(place: number): number {
    return this.#numbers[place % this.#numbers.length] ?? 0;
  }
}
