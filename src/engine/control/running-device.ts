/** A device that runs on an engine, and its counters. */
import type { CaptureMemory } from '../../base/memory/capture-memory.js';
import {
  COUNTER,
  COUNTER_NAMES,
  hitCounter,
  ROW_LENGTH,
  type Counter,
  type CounterName,
  type FilterWay,
} from '../../base/memory/port-counters.js';
import type { FreeList } from '../../base/memory/free-list.js';
import { STAGE_ORDER, type FilterStage } from '../filters/filter-plan.js';
import type { PortEndpoint } from '../forwarding/transport.js';
import type { DeviceSettings, PortPolicy } from '../forwarding/orders.js';
import type { TapPlan } from '../taps/tap-plan.js';
import type { SupervisedEngine } from './supervised-engine.js';

export type PortCounters = Readonly<Record<CounterName, number>>;

/** An engine, and the numbers of rows, connection counters and logs that are free. */
export interface EngineResources {
  readonly engine: SupervisedEngine;
  readonly rows: FreeList;
  readonly connections: FreeList;
  readonly logs: FreeList;
}

/** A log of the engine, until it is released. */
export interface DeviceLog {
  readonly memory: CaptureMemory;
  readonly index: number;
  /** Call after the last tap was removed. Afterwards the memory belongs to other logs. */
  release(): Promise<void>;
}

const PLAIN: PortPolicy = { suspended: false, filters: undefined };

interface Row {
  readonly index: number;
  /** The values of the row when its counters were last reset. */
  baseline: Float64Array;
  /** The moment of that. */
  since: number;
}

interface Slot {
  readonly index: number;
  baseline: number;
}

/** The counters of a device's connections, by name. A connection keeps its counter as long as it exists. */
export class ConnectionCounters {
  readonly #values: Float64Array;
  readonly #free: FreeList;
  #slots = new Map<string, Slot>();

  constructor(values: Float64Array, free: FreeList) {
    this.#values = values;
    this.#free = free;
  }

  /** The indexes of the counters of exactly these connections, in order. Throws when there is no room for all. */
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

  /** The count since the connection was made or its counter was reset. */
  read(name: string): number {
    const slot = this.#slots.get(name);
    return slot === undefined ? 0 : (this.#values[slot.index] ?? 0) - slot.baseline;
  }

  reset(): void {
    for (const slot of this.#slots.values()) slot.baseline = this.#values[slot.index] ?? 0;
  }
}

export class RunningDevice {
  readonly connections: ConnectionCounters;
  readonly #resources: EngineResources;
  readonly #id: number;
  readonly #onRemoved: () => void;
  readonly #counters: Float64Array;
  readonly #rows = new Map<number, Row>();
  #lastTap = 0;

  constructor(resources: EngineResources, id: number, onRemoved: () => void) {
    this.#resources = resources;
    this.#id = id;
    this.#onRemoved = onRemoved;
    const { memory } = resources.engine;
    this.#counters = new Float64Array(memory.portCounters);
    this.connections = new ConnectionCounters(
      new Float64Array(memory.connectionCounters),
      resources.connections,
    );
  }

  /** Call once before anything else. */
  async install(settings: DeviceSettings): Promise<void> {
    await this.#resources.engine.order({ do: 'add', device: this.#id, settings });
  }

  async configure(settings: DeviceSettings): Promise<void> {
    await this.#resources.engine.order({ do: 'configure', device: this.#id, settings });
  }

  /** The caller closes the endpoint, whether this succeeds or not. */
  async attach(port: number, endpoint: PortEndpoint, policy = PLAIN): Promise<void> {
    if (this.#rows.has(port)) throw new Error(`port ${port} is attached`);
    const { engine, rows } = this.#resources;
    const index = rows.take();
    if (index === undefined) throw new RangeError('all ports of the engine are in use');
    this.#rows.set(port, { index, baseline: this.#read(index), since: moment() });
    try {
      const attachment = { port, row: index, endpoint, policy };
      await engine.order({ do: 'attach', device: this.#id, attachment });
    } catch (error) {
      await this.detach(port).catch(() => undefined);
      throw error;
    }
  }

  /** When this resolves, the engine has let go of the endpoint. */
  async detach(port: number): Promise<void> {
    try {
      await this.#resources.engine.order({ do: 'detach', device: this.#id, port });
    } finally {
      this.#forget(port);
    }
  }

  /** Suspends or filters an attached port. Only suspending drops frames that wait in the previous filters. */
  async setPolicy(port: number, policy: PortPolicy): Promise<void> {
    await this.#resources.engine.order({ do: 'setPolicy', device: this.#id, port, policy });
  }

  /** Takes a log for the records of taps. Undefined when the engine has none left. */
  takeLog(): DeviceLog | undefined {
    const { engine, logs } = this.#resources;
    const index = logs.take();
    if (index === undefined) return undefined;
    return {
      memory: engine.memory.captures,
      index,
      release: async () => {
        try {
          await engine.order({ do: 'release', log: index });
        } finally {
          logs.giveBack(index);
        }
      },
    };
  }

  /** Begins to record the frames of an attached port; returns the number of the tap. Detaching the port ends it, too. */
  async tap(port: number, plan: TapPlan): Promise<number> {
    const tap = ++this.#lastTap;
    await this.#resources.engine.order({ do: 'tap', device: this.#id, tap: { port, tap, plan } });
    return tap;
  }

  /** When this resolves, the log has everything that the tap has seen. */
  async untap(port: number, tap: number): Promise<void> {
    await this.#resources.engine.order({ do: 'untap', device: this.#id, port, tap });
  }

  /** Detaches all ports. Call once; nothing may follow. */
  async remove(): Promise<void> {
    try {
      await this.#resources.engine.order({ do: 'remove', device: this.#id });
    } finally {
      for (const port of [...this.#rows.keys()]) this.#forget(port);
      this.connections.assign([]);
      this.#onRemoved();
    }
  }

  /** The tables of the device; their shape depends on its kind. */
  inspect(): Promise<unknown> {
    return this.#resources.engine.order({ do: 'inspect', device: this.#id });
  }

  /** The counts since the port was attached or its counters were reset; undefined when it is not attached. */
  counters(port: number): PortCounters | undefined {
    const row = this.#rows.get(port);
    if (row === undefined) return undefined;
    const now = this.#read(row.index);
    const counts = COUNTER_NAMES.map((name) => {
      const index = COUNTER[name];
      return [name, (now[index] ?? 0) - (row.baseline[index] ?? 0)];
    });
    return Object.fromEntries(counts) as PortCounters;
  }

  /**
   * The sum of the counts from one counter to another, both included, as in `counters`; 0 for a port that is not attached.
   * For readers of many ports.
   */
  count(port: number, first: Counter, last = first): number {
    const row = this.#rows.get(port);
    if (row === undefined) return 0;
    let sum = 0;
    for (let counter = first as number; counter <= last; counter++) {
      sum += (this.#counters[row.index * ROW_LENGTH + counter] ?? 0) - (row.baseline[counter] ?? 0);
    }
    return sum;
  }

  /** The moment from which a port counts, in milliseconds of a clock that does not go on in another process. */
  countsSince(port: number): number {
    return this.#rows.get(port)?.since ?? 0;
  }

  /** Adds the counts of all ports to these sums, which are a row. */
  addCounts(sums: Float64Array): void {
    for (const { index, baseline } of this.#rows.values()) {
      const start = index * ROW_LENGTH;
      for (let counter = 0; counter < COUNTER_NAMES.length; counter++)
        sums[counter] =
          (sums[counter] ?? 0) + (this.#counters[start + counter] ?? 0) - (baseline[counter] ?? 0);
    }
  }

  /** The hits of each filter of a port on one way, in the order of their kinds. */
  hits(port: number, way: FilterWay): Record<FilterStage['type'], number> {
    const row = this.#rows.get(port);
    const counts = STAGE_ORDER.map((type, kind) => {
      const counter = hitCounter(way, kind);
      const base = row === undefined ? 0 : (this.#counters[row.index * ROW_LENGTH + counter] ?? 0);
      return [type, base - (row?.baseline[counter] ?? 0)];
    });
    return Object.fromEntries(counts) as Record<FilterStage['type'], number>;
  }

  resetCounters(port: number): void {
    const row = this.#rows.get(port);
    if (row === undefined) return;
    row.baseline = this.#read(row.index);
    row.since = moment();
  }

  #forget(port: number): void {
    const row = this.#rows.get(port);
    if (row === undefined) return;
    this.#rows.delete(port);
    this.#resources.rows.giveBack(row.index);
  }

  #read(row: number): Float64Array {
    return this.#counters.slice(row * ROW_LENGTH, (row + 1) * ROW_LENGTH);
  }
}

/** The start of the process is in it, so that no other one has the same. */
function moment(): number {
  return performance.timeOrigin + performance.now();
}
