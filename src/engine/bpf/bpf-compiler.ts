/**
 * Compiles BPF expressions for the HTTP thread: in the job pool, one at a time, projects in turn. Recent results are
 * cached, and equal requests of a project share one compilation.
 */
import { refusals } from '../../base/errors/errors.js';
import { FairTurns } from '../../base/threads/fair-turns.js';
import type { TaskRunner } from '../../base/threads/task-pool.js';
import type { BpfProgram } from '../wire/bpf.js';
import type { BpfTasks } from './bpf-tasks.js';

const MOST_KEPT = 128;
const MOST_WAITING = 10_000;
const MOST_WAITING_OF_PROJECT = 1000;

/** The project and the client that want an expression compiled. */
export interface BpfAsker {
  readonly projectId: string;
  /** The client that waits for the result, if any: nothing is compiled for a client that has gone. */
  readonly client?: { readonly isGone: boolean } | undefined;
}

interface Pending {
  readonly askers: BpfAsker[];
  readonly program: Promise<BpfProgram>;
}

export class BpfCompiler {
  readonly #jobs: TaskRunner<BpfTasks>;
  readonly #turns = new FairTurns({
    atOnce: 1,
    mostWaiting: MOST_WAITING,
    mostWaitingOfOne: MOST_WAITING_OF_PROJECT,
  });
  /** The least recently used program is first. */
  readonly #programs = new Map<string, BpfProgram>();
  /** By project and expression, so that a project does not wait for the turn of another. */
  readonly #pending = new Map<string, Pending>();
  #isFound = false;

  constructor(jobs: TaskRunner<BpfTasks>) {
    this.#jobs = jobs;
  }

  /** Whether this host has libpcap. A negative answer is not cached, so a later installation is found. */
  get isAvailable(): Promise<boolean> {
    return this.#isFound ? Promise.resolve(true) : this.#find();
  }

  /** The program is shared between callers: it must be neither changed nor transferred to another thread. */
  async compile(expression: string, linkType: number, asker: BpfAsker): Promise<BpfProgram> {
    const key = `${linkType} ${expression}`;
    const known = this.#known(key);
    if (known !== undefined) return known;
    const pendingKey = `${asker.projectId} ${key}`;
    const pending = this.#pending.get(pendingKey);
    if (pending !== undefined) {
      pending.askers.push(asker);
      return pending.program;
    }
    const askers = [asker];
    const program = this.#turns.run(asker.projectId, async () => {
      if (askers.every(({ client }) => client?.isGone === true)) throw refusals.clientGone();
      // Another project may have asked for it meanwhile.
      return (
        this.#known(key) ?? this.#keep(key, await this.#jobs.run('compileBpf', { expression, linkType }))
      );
    });
    this.#pending.set(pendingKey, { askers, program });
    try {
      return await program;
    } finally {
      this.#pending.delete(pendingKey);
    }
  }

  /** Refuses all waiting expressions. */
  close(): void {
    this.#turns.close();
  }

  #known(key: string): BpfProgram | undefined {
    const program = this.#programs.get(key);
    return program === undefined ? undefined : this.#keep(key, program);
  }

  #keep(key: string, program: BpfProgram): BpfProgram {
    this.#programs.delete(key);
    this.#programs.set(key, program);
    for (const oldest of this.#programs.keys()) {
      if (this.#programs.size <= MOST_KEPT) break;
      this.#programs.delete(oldest);
    }
    return program;
  }

  async #find(): Promise<boolean> {
    this.#isFound = await this.#jobs.run('hasLibpcap', undefined);
    return this.#isFound;
  }
}
