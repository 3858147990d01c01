/**
 * The process in which libpcap runs, on the side of the job thread that asks it. A call of libpcap may take a minute,
 * and a thread cannot be ended within it, but a process can. It is started when it is first needed, and again when it
 * has ended.
 */
import { fork, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { refusals } from '../../base/errors/errors.js';
import { valueOf, type TaskOutcome, type TaskRequest } from '../../base/threads/task.js';
import type { BpfTasks } from './bpf-tasks.js';

/** With its start. The process itself ends earlier when it computes too long: this is for one that waits. */
const PATIENCE_MS = 20_000;

export class CompilerProcess {
  readonly #entry: URL;
  #child: ChildProcess | undefined;

  constructor(entry: URL) {
    this.#entry = entry;
  }

  /** The tasks as the process carries them out, one at a time. */
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

  /** Undefined when the process ended meanwhile, or had to be ended. */
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
    // The child keeps nothing alive by itself: a caller that waits for its answer does.
    child.unref();
    child.channel?.unref();
    child.once('exit', () => {
      this.#child = undefined;
    });
    return child;
  }
}
