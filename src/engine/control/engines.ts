/**
 * The engines of this server. A lab stays on one engine from its first device to its last: the engine that had the
 * fewest devices when the lab started.
 */
import { availableParallelism } from 'node:os';
import type { Logger } from 'pino';
import { MOST_LOGS, type CaptureMemory } from '../../base/memory/capture-memory.js';
import { MOST_CONNECTIONS, MOST_PORTS } from '../../base/memory/engine-memory.js';
import { ROW_LENGTH } from '../../base/memory/port-counters.js';
import { FreeList } from '../../base/memory/free-list.js';
import { LoopPool, type PooledLoop } from '../../base/threads/loop-pool.js';
import type { RunLoop } from '../../base/threads/loop-run.js';
import type { Bell } from '../forwarding/transport.js';
import type { MetricPage } from '../../base/metrics/metric-page.js';
import { summed, writeEngines, type CountedEngine, type SummedEngine } from './engine-metrics.js';
import { RunningDevice, type EngineResources } from './running-device.js';
import { SupervisedEngine, type EngineSetup } from './supervised-engine.js';

const MOST_ENGINES = 8;
/** The memory for captured records of all engines together. Pages that are never written to cost nothing. */
const CAPTURE_BYTES = 256 * 1024 * 1024;

interface EnginesOptions {
  readonly worker: URL;
  readonly newBell: () => Bell;
  readonly log: Logger;
  /** Called after an engine was started again, with the labs that are on it, and why it had died. */
  readonly onRestart: (labs: readonly string[], reason: string) => void;
}

/** The counters of a lab, summed over the rows of its ports. */
export interface CountedLab {
  readonly lab: string;
  readonly sums: Float64Array;
}

interface LabHost extends EngineResources, PooledLoop {
  /** The devices of each lab on this engine. */
  readonly labs: Map<string, Set<RunningDevice>>;
}

export class Engines {
  readonly #options: EnginesOptions;
  readonly #pool: LoopPool<LabHost>;
  #lastDevice = 0;

  constructor(options: EnginesOptions) {
    this.#options = options;
    const count = Math.min(MOST_ENGINES, Math.max(1, availableParallelism() - 1));
    this.#pool = new LoopPool({
      worker: options.worker,
      count,
      newLoop: (run) => this.#newHost(run, CAPTURE_BYTES / count),
    });
  }

  /** How many run and have not died at their start. */
  get running(): number {
    return this.#pool.loops.filter(({ engine }) => engine.isWell).length;
  }

  /** Reserves room for a device of a lab. */
  newDevice(lab: string): RunningDevice {
    const host = this.#hostOf(lab);
    const devices = host.labs.get(lab) ?? new Set();
    host.labs.set(lab, devices);
    const { log } = this.#options;
    const number = ++this.#lastDevice;
    log.debug({ lab, device: number }, 'a device was added');
    const device = new RunningDevice(host, number, () => {
      log.debug({ lab, device: number }, 'a device was removed');
      devices.delete(device);
      if (devices.size === 0) host.labs.delete(lab);
    });
    devices.add(device);
    return device;
  }

  /** The counts of the ports of each lab, one lab after the other. */
  *countedLabs(): Iterable<CountedLab> {
    for (const { labs } of this.#pool.loops) {
      for (const [lab, devices] of labs) {
        const sums = new Float64Array(ROW_LENGTH);
        for (const device of devices) device.addCounts(sums);
        yield { lab, sums };
      }
    }
  }

  readonly writeMetrics = (page: MetricPage): Iterable<void> => writeEngines(page, this.#counted());

  /** The engines with their counts. */
  counted(): SummedEngine[] {
    return this.#counted().map(summed);
  }

  /** The memories that the engines record into, to be drained. */
  get captureMemories(): CaptureMemory[] {
    return this.#pool.loops.map(({ engine }) => engine.memory.captures);
  }

  close(): Promise<void> {
    return this.#pool.close();
  }

  #counted(): CountedEngine[] {
    return this.#pool.loops.map(({ engine, rows, labs }) => ({
      counters: new Float64Array(engine.memory.portCounters),
      usedRows: rows.used,
      ports: rows.taken,
      labs: labs.size,
      restarts: engine.restarts,
    }));
  }

  #newHost(run: RunLoop<EngineSetup>, captureBytes: number): LabHost {
    const { newBell, log, onRestart } = this.#options;
    const labs = new Map<string, Set<RunningDevice>>();
    const engine = new SupervisedEngine({
      captureBytes,
      run,
      newBell,
      log,
      onDeath: () => ({ labs: labs.size }),
      onRestart: (reason) => {
        onRestart([...labs.keys()], reason);
      },
    });
    return {
      engine,
      labs,
      get load() {
        return [...labs.values()].reduce((sum, devices) => sum + devices.size, 0);
      },
      tellToEnd: () => {
        engine.tellToEnd();
      },
      close: () => engine.close(),
      rows: new FreeList(MOST_PORTS),
      connections: new FreeList(MOST_CONNECTIONS),
      logs: new FreeList(MOST_LOGS),
    };
  }

  #hostOf(lab: string): LabHost {
    return this.#pool.loops.find(({ labs }) => labs.has(lab)) ?? this.#pool.leastLoaded;
  }
}
