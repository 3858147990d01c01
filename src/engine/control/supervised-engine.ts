/**
 * One engine as the HTTP thread sees it: its memory, and the loop that carries out orders. It keeps what the orders add
 * up to, so that an engine that is started again gets everything that is wanted.
 */
import { newEngineMemory, type EngineMemory } from '../../base/memory/engine-memory.js';
import type { LoopStart, RunLoop } from '../../base/threads/loop-run.js';
import { againOnce, WorkerLoop, type LoopLog } from '../../base/threads/worker-loop.js';
import { FRAMES_LENGTH } from '../forwarding/frame-memory.js';
import type { Order } from '../forwarding/orders.js';
import type { Bell, BellListener } from '../forwarding/transport.js';
import { WantedGraph } from './wanted-graph.js';

/** An engine turns twice a second at least, and so hangs when it has not turned for this many checks: 2 s. */
const MOST_MISSED_CHECKS = 4;

export interface EngineSetup {
  readonly memory: EngineMemory;
  readonly listener: BellListener;
}

/** Handed to an engine's thread when it starts. */
export type EngineStart = EngineSetup & LoopStart;

interface EngineContext {
  /** The size of the memory for captured records. */
  readonly captureBytes: number;
  readonly run: RunLoop<EngineSetup>;
  readonly log: LoopLog;
  readonly newBell: () => Bell;
  /** Called when the thread has gone. Returns how much that concerns, for the log. */
  readonly onDeath: () => object;
  /** Called after the engine was started again and rebuilt. */
  readonly onRestart: (reason: string) => void;
}

export class SupervisedEngine {
  readonly memory: EngineMemory;
  readonly #graph = new WantedGraph();
  readonly #bell: Bell;
  readonly #loop: WorkerLoop<EngineSetup, never>;

  constructor({ captureBytes, run, log, newBell, onDeath, onRestart }: EngineContext) {
    this.memory = newEngineMemory(FRAMES_LENGTH, captureBytes);
    this.#bell = newBell();
    this.#loop = new WorkerLoop<EngineSetup, never>({
      name: 'packet engine',
      log,
      run,
      newSetup: () => ({ memory: this.memory, listener: this.#bell.newListener() }),
      ring: () => {
        this.#bell.ring();
      },
      isBusy: () => true,
      mostMissedChecks: MOST_MISSED_CHECKS,
      fate: ({ task }, deaths) => {
        // The memory of a log must be given back, however often the engine dies.
        if (task === 'release') return 'again';
        return task === 'inspect' ? againOnce(deaths) : 'restored';
      },
      onDeath,
      restore: () => this.#graph.orders().map((order) => this.#carryOut(order)),
      onRestart,
    });
    this.#loop.start();
  }

  /** Whether its thread runs, and has not died at its start. */
  get isWell(): boolean {
    return this.#loop.isWell;
  }

  get restarts(): number {
    return this.#loop.restarts;
  }

  /** Resolves when the order is carried out. The wanted graph changes at once. */
  order(order: Order): Promise<unknown> {
    this.#graph.note(order);
    return this.#carryOut(order);
  }

  /** Lets the thread end after its turn, also while the process exits. */
  tellToEnd(): void {
    this.#loop.tellToEnd();
  }

  async close(): Promise<void> {
    await this.#loop.close();
    // A thread that does not end may still wait on the bell.
    if (!this.#loop.hasThread) this.#bell.close();
  }

  /** Ends the thread as if it had died. */
  kill(): void {
    this.#loop.kill();
  }

  #carryOut(order: Order): Promise<unknown> {
    return this.#loop.ask({ task: order.do, input: order });
  }
}
