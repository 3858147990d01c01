/**
 * The engines of this server. A lab stays on one engine from its first device to its last: the engine that had the
 * fewest devices when the lab started.
 */
import { availableParallelism } from 'node:os';
import type { Logger } from 'pino';
import { MOST_LOGS, type CaptureMemory } from '../../base/memory/capture-memory.js';
import { MOST_CONNECTIONS, MOST_PORTS } from '../../base/memory/engine-memory.js';
import { FreeList } from '../../base/memory/free-list.js';
import type { Bell } from '../forwarding/transport.js';
import { engineThread } from './engine-thread.js';
import { RunningDevice, type EngineResources } from './running-device.js';
import { SupervisedEngine } from './supervised-engine.js';

const MOST_ENGINES = 8;
/** The memory for captured records of all engines together. Pages that are never written to cost nothing. */
const CAPTURE_BYTES = 256 * 1024 * 1024;

export interface EnginesOptions {
  readonly worker: URL;
  readonly newBell: () => Bell;
  readonly log: Logger;
  /** Called after an engine was started again, with the labs that are on it, and why it had died. */
  readonly onRestart: (labs: readonly string[], reason: string) => void;
}

interface LabHost extends EngineResources {
  /** The number of devices of each lab on this engine. */
  readonly labs: Map<string, number>;
}

export class Engines {
  readonly #options: EnginesOptions;
  readonly #hosts: readonly LabHost[];
  readonly #stopAll = (): void => {
    for (const { engine } of this.#hosts) engine.stop();
  };
  #lastDevice = 0;

  constructor(options: EnginesOptions) {
    this.#options = options;
    const count = Math.min(MOST_ENGINES, Math.max(1, availableParallelism() - 1));
    const captureBytes = CAPTURE_BYTES / count;
    this.#hosts = Array.from({ length: count }, () => this.#newHost(captureBytes));
    // A thread that waits in a system call would delay the end of the process.
    process.once('exit', this.#stopAll);
  }

  /** Reserves room for a device of a lab. */
  newDevice(lab: string): RunningDevice {
    const host = this.#hostOf(lab);
    host.labs.set(lab, (host.labs.get(lab) ?? 0) + 1);
    const { log } = this.#options;
    const device = ++this.#lastDevice;
    log.debug({ lab, device }, 'a device was added');
    return new RunningDevice(host, device, () => {
      log.debug({ lab, device }, 'a device was removed');
      const left = (host.labs.get(lab) ?? 1) - 1;
      if (left === 0) host.labs.delete(lab);
      else host.labs.set(lab, left);
    });
  }

  /** The memories that the engines record into, to be drained. */
  get captureMemories(): CaptureMemory[] {
    return this.#hosts.map(({ engine }) => engine.memory.captures);
  }

  async close(): Promise<void> {
    process.off('exit', this.#stopAll);
    await Promise.all(this.#hosts.map(({ engine }) => engine.close()));
  }

  #newHost(captureBytes: number): LabHost {
    const { worker, newBell, log, onRestart } = this.#options;
    const labs = new Map<string, number>();
    const engine: SupervisedEngine = new SupervisedEngine({
      captureBytes,
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

  #hostOf(lab: string): LabHost {
    const own = this.#hosts.find(({ labs }) => labs.has(lab));
    if (own !== undefined) return own;
    const load = ({ labs }: LabHost): number => [...labs.values()].reduce((sum, count) => sum + count, 0);
    return this.#hosts.reduce((least, host) => (load(host) < load(least) ? host : least));
  }
}
