/** A device that runs on an engine, and what is counted of it. */
import type { CaptureMemory } from '../../base/memory/capture-memory.js';
import { COUNTER, COUNTER_NAMES, ROW_LENGTH, type CounterName } from '../../base/memory/port-counters.js';
import type { FreeList } from '../../base/memory/free-list.js';
import type { PortEndpoint } from '../forwarding/transport.js';
import type { DeviceSettings, PortPolicy } from '../forwarding/orders.js';
import type { TapPlan } from '../taps/tap-plan.js';
import { ConnectionCounters } from './connection-counters.js';
import type { SupervisedEngine } from './supervised-engine.js';

export type PortCounters = Readonly<Record<CounterName, number>>;

/** What an engine has for devices. */
export interface EnginePlace {
  readonly engine: SupervisedEngine;
  /** Numbers of rows and of connection counters that nobody uses. */
  readonly rows: FreeList;
  readonly connections: FreeList;
  readonly logs: FreeList;
}

/** A log of the engine, as long as it is not released. */
export interface DeviceLog {
  readonly memory: CaptureMemory;
  readonly index: number;
  /** After the last tap that writes it. Its memory is another log's afterwards. */
  release(): Promise<void>;
}

/** Everything passes as it is. */
const PLAIN: PortPolicy = { suspended: false, filters: undefined };

interface Row {
  readonly index: number;
  /** What stood in the row when its counters were last reset. */
  baseline: Float64Array;
}

export class RunningDevice {
  readonly connections: ConnectionCounters;
  readonly #place: EnginePlace;
  readonly #id: number;
  readonly #onRemoved: () => void;
  readonly #counters: Float64Array;
  readonly #rows = new Map<number, Row>();
  #lastTap = 0;

  constructor(place: EnginePlace, id: number, onRemoved: () => void) {
    this.#place = place;
    this.#id = id;
    this.#onRemoved = onRemoved;
    const { memory } = place.engine;
    this.#counters = new Float64Array(memory.portCounters);
    this.connections = new ConnectionCounters(new Float64Array(memory.connectionCounters), place.connections);
  }

  /** Comes first. */
  async install(settings: DeviceSettings): Promise<void> {
    await this.#place.engine.order({ do: 'add', device: this.#id, settings });
  }

  async configure(settings: DeviceSettings): Promise<void> {
    await this.#place.engine.order({ do: 'configure', device: this.#id, settings });
  }

  /** The endpoint stays open for the caller to close, whatever becomes of this. */
  async attach(port: number, endpoint: PortEndpoint, policy = PLAIN): Promise<void> {
    if (this.#rows.has(port)) throw new Error(`port ${port} is attached`);
    const { engine, rows } = this.#place;
    const index = rows.take();
    if (index === undefined) throw new RangeError('all ports of the engine are in use');
    this.#rows.set(port, { index, baseline: this.#read(index) });
    try {
      const attachment = { port, row: index, endpoint, policy };
      await engine.order({ do: 'attach', device: this.#id, attachment });
    } catch (error) {
      await this.detach(port).catch(() => undefined);
      throw error;
    }
  }

  /** When it resolves, the engine has let go of the endpoint. */
  async detach(port: number): Promise<void> {
    try {
      await this.#place.engine.order({ do: 'detach', device: this.#id, port });
    } finally {
      this.#forget(port);
    }
  }

  /** Changes what lies between an attached port and its link; frames on their way are not lost. */
  async setPolicy(port: number, policy: PortPolicy): Promise<void> {
    await this.#place.engine.order({ do: 'setPolicy', device: this.#id, port, policy });
  }

  /** Where the records of taps at this device go. Undefined when the engine has no log left. */
  takeLog(): DeviceLog | undefined {
    const { engine, logs } = this.#place;
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

  /** Begins to record what passes an attached port; returns the number of the tap. Detaching ends it, too. */
  async tap(port: number, plan: TapPlan): Promise<number> {
    const tap = ++this.#lastTap;
    await this.#place.engine.order({ do: 'tap', device: this.#id, tap: { port, tap, plan } });
    return tap;
  }

  /** When it resolves, the log has everything that the tap has seen. */
  async untap(port: number, tap: number): Promise<void> {
    await this.#place.engine.order({ do: 'untap', device: this.#id, port, tap });
  }

  /** Detaches everything. Comes last. */
  async remove(): Promise<void> {
    try {
      await this.#place.engine.order({ do: 'remove', device: this.#id });
    } finally {
      for (const port of [...this.#rows.keys()]) this.#forget(port);
      this.connections.assign([]);
      this.#onRemoved();
    }
  }

  /** The tables of the device, as its kind has them. */
  inspect(): Promise<unknown> {
    return this.#place.engine.order({ do: 'inspect', device: this.#id });
  }

  /** Since the port was attached or its counters were reset; undefined when it is not attached. */
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

  resetCounters(port: number): void {
    const row = this.#rows.get(port);
    if (row !== undefined) row.baseline = this.#read(row.index);
  }

  #forget(port: number): void {
    const row = this.#rows.get(port);
    if (row === undefined) return;
    this.#rows.delete(port);
    this.#place.rows.giveBack(row.index);
  }

  #read(row: number): Float64Array {
    return this.#counters.slice(row * ROW_LENGTH, (row + 1) * ROW_LENGTH);
  }
}
