/** The counters of a device's connections. Each connection keeps its own as long as it exists, by its name. */
import type { FreeList } from '../../base/memory/free-list.js';

interface Slot {
  readonly index: number;
  baseline: number;
}

export class ConnectionCounters {
  readonly #values: Float64Array;
  readonly #free: FreeList;
  #slots = new Map<string, Slot>();

  constructor(values: Float64Array, free: FreeList) {
    this.#values = values;
    this.#free = free;
  }

  /** Where the counters of exactly these connections lie, in their order. Throws when there is no room for all. */
  assign(names: readonly string[]): number[] {
    const slots = new Map<string, Slot>();
    const fresh: number[] = [];
    for (const name of names) {
      const known = this.#slots.get(name) ?? slots.get(name);
      const index = known?.index ?? this.#free.take();
      if (index === undefined) {
        for (const taken of fresh) this.#free.giveBack(taken);
        throw new RangeError('all connections of the engine are in use');
      }
      if (known === undefined) fresh.push(index);
      slots.set(name, known ?? { index, baseline: this.#values[index] ?? 0 });
    }
    for (const [name, { index }] of this.#slots) if (!slots.has(name)) this.#free.giveBack(index);
    this.#slots = slots;
    return names.map((name) => slots.get(name)?.index ?? 0);
  }

  /** Since the connection was made or its counter was reset. */
  read(name: string): number {
    const slot = this.#slots.get(name);
    return slot === undefined ? 0 : (this.#values[slot.index] ?? 0) - slot.baseline;
  }

  reset(): void {
    for (const slot of this.#slots.values()) slot.baseline = this.#values[slot.index] ?? 0;
  }
}
