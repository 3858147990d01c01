/**
 * The process in which libpcap runs, as seen from the job thread. A call of libpcap may take a minute; it cannot be
 * interrupted by ending its thread, but by ending its process. The process is started on first use, and again when it
 * has ended.
 */
import { fork, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { refusals } from '../../base/errors/errors.js';
import { valueOf, type TaskOutcome, type TaskRequest } from '../../base/threads/task.js';
import type { BpfTasks } from './bpf-tasks.js';

/** Includes the start. A process that computes too long ends itself earlier; this is for one that only waits. */
const PATIENCE_MS = 20_000;

export class CompilerProcess {
  readonly #entry: URL;
  #child: ChildProcess | undefined;

  constructor(entry: URL) {
    this.#entry = entry;
  }

  /** The tasks, carried out by the process one at a time. */
  get tasks(): BpfTasks {
    return {
      compileBpf: async (input) => {
        const outcome = await this.#ask({ task: 'compileBpf', input });
        if (outcome === undefined) throw refusals.bpfTooSlow(input.expression);
        return valueOf(outcome) as Awaited<ReturnType<BpfTasks['compileBpf']>>;
      },
      hasLibpcap: async (input) => {
        const outcome = await this.#ask({ task: 'hasLibpcap', input });
        return outcome !== undefined && (valueOf(outcome) as boolean);
      },
    };
  }

  /** The outcome; undefined when the process ended by itself or had to be ended. */
  async #ask(request: TaskRequest): Promise<TaskOutcome | undefined> {
    const child = (this.#child ??= this.#start());
    const answered = new AbortController();
    const { signal } = answered;
    const patience = setTimeout(() => child.kill('SIGKILL'), PATIENCE_MS);
    try {
      child.send(request);
      const [outcome] = (await Promise.race([
        once(child, 'message', { signal }),
        once(child, 'exit', { signal }).then(() => []),
      ])) as [TaskOutcome?];
      return outcome;
    } finally {
      clearTimeout(patience);
      answered.abort();
    }
  }

  #start(): ChildProcess {
    const child = fork(this.#entry, {
      execArgv: [],
      serialization: 'advanced',
      stdio: ['ignore', 'ignore', 'inherit', 'ipc'],
    });
    // The child does not keep this process alive; a caller that waits for an answer does.
    child.unref();
    child.channel?.unref();
    child.once('exit', () => {
      this.#child = undefined;
    });
    return child;
  }
}
