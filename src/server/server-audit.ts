/** The audit of a running server: on when there are accounts, or when the settings ask for it. */
import { join } from 'node:path';
import type { Logger } from 'pino';
import type { Users } from '../lab/access/users.js';
import { Audit } from '../lab/audit/audit.js';
import { auditChecksOf, type AuditChecks } from '../operations/audit-checks.js';
import type { Jobs } from '../snapshots/jobs.js';
import type { Config } from './config.js';
import { AUDIT } from './folders.js';
import type { ServerStore } from './server-store.js';
import type { Threads } from './threads.js';

interface ServerAuditOptions {
  readonly config: Config;
  readonly store: ServerStore;
  readonly users: Users;
  readonly files: Threads['files'];
  readonly log: Logger;
  /** The time of day. */
  readonly now: () => number;
}

export function auditChecks(
  audit: Audit,
  { data }: Config,
  threads: Threads['jobs'],
  jobs: Jobs,
): AuditChecks {
  return auditChecksOf({ audit, data, threads, jobs });
}

export function serverAudit({ config, store, users, files, log, now }: ServerAuditOptions): Audit {
  const isAlwaysOn = config.isAudited || config.credentials !== undefined;
  return new Audit({
    ...{ store, files, log, now },
    folder: join(config.data, AUDIT),
    isOn: () => isAlwaysOn || users.size > 0,
    isRequired: config.needsAudit,
  });
}
