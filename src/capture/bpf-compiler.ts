/** BPF expressions as the HTTP thread has them compiled: in the job pool, and what is asked for again only once. */
import type { TaskPool } from '../pool/task-pool.js';
import type { BpfProgram } from '../wire/bpf.js';
import type { BpfTasks } from './bpf-tasks.js';

const MOST_KEPT = 128;

export class BpfCompiler {
  readonly #jobs: Pick<TaskPool<BpfTasks>, 'run'>;
  /** Compiled, or being compiled: the one that was not asked for the longest is first. */
  readonly #programs = new Map<string, Promise<BpfProgram>>();
  #isFound = false;

  constructor(jobs: Pick<TaskPool<BpfTasks>, 'run'>) {
    this.#jobs = jobs;
  }

  /** Whether libpcap is on this host. One that is installed later is found then. */
  get isAvailable(): Promise<boolean> {
    return this.#isFound ? Promise.resolve(true) : this.#find();
  }

  /** The program is shared with whoever asks the same: it must be neither changed nor moved to another thread. */
  async compile(expression: string, linkType: number): Promise<BpfProgram> {
    const key = `${linkType} ${expression}`;
    const program = this.#programs.get(key) ?? this.#jobs.run('compileBpf', { expression, linkType });
    this.#programs.delete(key);
    this.#programs.set(key, program);
    for (const oldest of this.#programs.keys()) {
      if (this.#programs.size <= MOST_KEPT) break;
      this.#programs.delete(oldest);
    }
    try {
      return await program;
    } catch (error) {
      if (this.#programs.get(key) === program) this.#programs.delete(key);
      throw error;
    }
  }

  async #find(): Promise<boolean> {
    this.#isFound = await this.#jobs.run('hasLibpcap', undefined);
    return this.#isFound;
  }
}
