/**
 * The engines of this server. A lab lives on one engine from its first device to its last, the one that has least
 * to do at that time.
 */
import { availableParallelism } from 'node:os';
import type { Logger } from 'pino';
import { MOST_LOGS, type CaptureMemory } from '../../base/memory/capture-memory.js';
import { MOST_CONNECTIONS, MOST_PORTS } from '../../base/memory/engine-memory.js';
import { FreeList } from '../../base/memory/free-list.js';
import type { Bell } from '../forwarding/transport.js';
import { engineThread } from './engine-thread.js';
import { RunningDevice, type EnginePlace } from './running-device.js';
import { SupervisedEngine } from './supervised-engine.js';

const MOST_ENGINES = 8;
/** Of all engines together; what is not written to costs nothing. */
const CAPTURE_OCTETS = 256 * 1024 * 1024;

export interface EnginesOptions {
  readonly worker: URL;
  readonly newBell: () => Bell;
  readonly log: Logger;
  /** An engine was started again: which labs were on it, and why. */
  readonly onRestart: (labs: readonly string[], reason: string) => void;
}

interface Place extends EnginePlace {
  /** How many devices each lab has here. */
  readonly labs: Map<string, number>;
}

export class Engines {
  readonly #options: EnginesOptions;
  readonly #places: readonly Place[];
  readonly #tellAll = (): void => {
    for (const { engine } of this.#places) engine.tellToEnd();
  };
  #lastDevice = 0;

  constructor(options: EnginesOptions) {
    this.#options = options;
    const count = Math.min(MOST_ENGINES, Math.max(1, availableParallelism() - 1));
    const captureOctets = CAPTURE_OCTETS / count;
    this.#places = Array.from({ length: count }, () => this.#newPlace(captureOctets));
    // A thread that waits in a system call would hold up the end of the process.
    process.once('exit', this.#tellAll);
  }

  /** Reserves a place for a device of a lab. */
  newDevice(lab: string): RunningDevice {
    const place = this.#placeOf(lab);
    place.labs.set(lab, (place.labs.get(lab) ?? 0) + 1);
    return new RunningDevice(place, ++this.#lastDevice, () => {
      const left = (place.labs.get(lab) ?? 1) - 1;
      if (left === 0) place.labs.delete(lab);
      else place.labs.set(lab, left);
    });
  }

  /** What the engines record into, for whoever drains it. */
  get captureMemories(): CaptureMemory[] {
    return this.#places.map(({ engine }) => engine.memory.captures);
  }

  async close(): Promise<void> {
    process.off('exit', this.#tellAll);
    await Promise.all(this.#places.map(({ engine }) => engine.close()));
  }

  #newPlace(captureOctets: number): Place {
    const { worker, newBell, log, onRestart } = this.#options;
    const labs = new Map<string, number>();
    const engine: SupervisedEngine = new SupervisedEngine({
      captureOctets,
      run: engineThread(worker),
      newBell,
      onDeath: (reason, restMs) => {
        log.error({ reason, labs: labs.size, restMs }, 'a packet engine died');
      },
      onStuck: () => {
        log.error({ labs: labs.size }, 'the thread of a packet engine does not end; its labs stand still');
      },
      onRestart: (reason) => {
        log.error({ reason, labs: labs.size, restarts: engine.restarts }, 'a packet engine was restarted');
        onRestart([...labs.keys()], reason);
      },
    });
    return {
      engine,
      labs,
      rows: new FreeList(MOST_PORTS),
      connections: new FreeList(MOST_CONNECTIONS),
      logs: new FreeList(MOST_LOGS),
    };
  }

  #placeOf(lab: string): Place {
    const own = this.#places.find(({ labs }) => labs.has(lab));
    if (own !== undefined) return own;
    const load = ({ labs }: Place): number => [...labs.values()].reduce((sum, count) => sum + count, 0);
    return this.#places.reduce((least, place) => (load(place) < load(least) ? place : least));
  }
}
