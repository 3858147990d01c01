/** A server that dies, fails, or waits at a wanted operation on the disk. */
import { Client, type Reply } from './client.js';
import {
  dropPlan,
  FAULTS,
  hasStruck,
  layPlan,
  operationsOf,
  type FaultMode,
  type FaultPlan,
} from './fault-plan.js';
import { scratchFolder, type Teardown } from './scratch.js';
import { startServer, type ServerProcess } from './server-process.js';

/** Each operation on the disk looks into the plan's folder, on the thread that begins it, too. */
const FAULTY_TURN_MS = 200;
const INJECTION = new URL('./fault-injection.js', import.meta.url).href;

/** The end of a request while there was a plan. */
export interface Outcome {
  /** Undefined when the server died before it answered. */
  readonly reply: Reply | undefined;
  readonly hasFired: boolean;
  /** The counted operations; the last is the one that was hit, if one was. */
  readonly operations: readonly string[];
}

export class FaultServer {
  readonly data: string;
  readonly #t: Teardown;
  readonly #faults: string;
  readonly #flags: readonly string[];
  readonly #environment: NodeJS.ProcessEnv;
  #server: ServerProcess | undefined;
  #client = new Client('');
  #runs = 0;

  constructor(t: Teardown, data: string, flags: readonly string[] = [], environment: NodeJS.ProcessEnv = {}) {
    this.#t = t;
    this.data = data;
    this.#flags = flags;
    this.#environment = environment;
    this.#faults = scratchFolder(t);
  }

  get client(): Client {
    return this.#client;
  }

  get process(): ServerProcess {
    if (this.#server === undefined) throw new Error('there is no server yet');
    return this.#server;
  }

  /** One where the last one left everything. */
  async start(): Promise<void> {
    const faults = { NODE_OPTIONS: `--import=${INJECTION}`, [FAULTS]: this.#faults };
    const environment = { ...faults, ...this.#environment };
    this.#server = await startServer(this.#t, {
      data: this.data,
      environment,
      flags: this.#flags,
      allowedTurnMs: FAULTY_TURN_MS,
    });
    this.#client = new Client(this.#server.url);
  }

  /** Does it with a fault; afterwards there is a server that works: `revive` sees to it when it was killed. */
  async under(
    plan: { of?: FaultPlan['of']; at: number; mode: FaultMode },
    act: () => Promise<Reply>,
    revive: () => Promise<void>,
  ): Promise<Outcome> {
    const run = this.#lay({ at: plan.at, mode: plan.mode, of: plan.of ?? 'changes' });
    const reply = await act().catch(() => undefined);
    dropPlan(this.#faults);
    const operations = operationsOf(this.#faults, run);
    const hasFired = hasStruck(this.#faults, run);
    const isDeadly = plan.mode === 'before' || plan.mode === 'after';
    if (hasFired && isDeadly) {
      await this.process.stop('SIGKILL');
      await revive();
    } else if (reply === undefined) {
      throw new Error(`the server ended by itself: ${this.process.log()}`);
    }
    return { reply, hasFired, operations: operations.slice(0, hasFired ? plan.at : undefined) };
  }

  /** From now on changes of what has this in its path wait. What was begun up to now is told; `release` ends it. */
  hold(what: string): { readonly begun: () => readonly string[]; readonly release: () => void } {
    const run = this.#lay({ at: 0, mode: 'before', of: 'changes', holds: what });
    return {
      begun: () => operationsOf(this.#faults, run),
      release: () => {
        dropPlan(this.#faults);
      },
    };
  }

  #lay(plan: Omit<FaultPlan, 'run'>): string {
    const run = `run-${++this.#runs}`;
    layPlan(this.#faults, { ...plan, run });
    return run;
  }
}
