/** The check of the audit while the server runs: a job. */
import type { TaskRunner } from '../base/threads/task-pool.js';
import type { AuditTip } from '../lab/audit/audit-entry.js';
import type { Jobs } from '../snapshots/jobs.js';
import type { AuditCheckTasks } from './audit-verification.js';
import { Verification } from './verification.js';

interface AuditChecksOptions {
  readonly jobs: Pick<Jobs, 'begin'>;
  /** With the last line that the server has written. */
  readonly audit: { readonly tip: AuditTip | undefined };
  /** The data folder. */
  readonly data: string;
  readonly threads: TaskRunner<AuditCheckTasks>;
}

export type AuditChecks = Verification<Awaited<ReturnType<AuditCheckTasks['checkAudit']>>>;

export function auditChecksOf({ jobs, audit, data, threads }: AuditChecksOptions): AuditChecks {
  return new Verification({
    ...{ jobs, owner: { id: 'audit' }, kind: 'audit.verify', subject: 'audit' },
    check: ({ progress: { memory } }) => {
      const tips = audit.tip === undefined ? [] : [audit.tip];
      return threads.run('checkAudit', { data, tips, progress: memory });
    },
  });
}
