/** Checks of the audit while the server runs, in a job thread. */
import type { TaskRunner } from '../base/threads/task-pool.js';
import type { AuditTip } from '../lab/audit/audit-entry.js';
import type { AuditCheckTasks } from './audit-verification.js';

type Verdict = ReturnType<AuditCheckTasks['checkAudit']>;

interface AuditChecksOptions {
  /** With the last line that the server has written. */
  readonly audit: { readonly tip: AuditTip | undefined };
  /** The data folder. */
  readonly data: string;
  readonly threads: TaskRunner<AuditCheckTasks>;
}

/** Verifies the audit of a running server. */
export class AuditChecks {
  readonly #options: AuditChecksOptions;
  #check: Verdict | undefined;

  constructor(options: AuditChecksOptions) {
    this.#options = options;
  }

  /** Callers who ask meanwhile share one check. */
  check(): Verdict {
    const { audit, data, threads } = this.#options;
    const tips = audit.tip === undefined ? [] : [audit.tip];
    this.#check ??= threads.run('checkAudit', { data, tips }).finally(() => (this.#check = undefined));
    return this.#check;
  }
}
