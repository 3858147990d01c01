/** The audit, backups and history of the server. */
import type { AuditLineShape, AuditVerificationShape } from '../../api/shapes/audit.js';
import type { BackupListShape } from '../../api/shapes/backups.js';
import type { BegunJobShape } from '../../api/shapes/jobs.js';
import type { RememberedEventShape } from '../../api/shapes/history.js';
import { segment, sendForLines, type Call } from './call.js';

/** The lines that are asked for; what is empty bounds nothing. */
interface AuditQuery {
  readonly user: string;
  readonly project: string;
  readonly since: string;
}

const audit = 'v2/admin/audit';
const backups = 'v2/admin/backups';
const MOST_LINES = 100_000;
const MOST_EVENTS = 1000;

export function readAudit(query: AuditQuery): Call<unknown> {
  const wanted = Object.entries(query).filter(([, value]) => value !== '');
  return {
    method: 'GET',
    path: `${audit}?${new URLSearchParams([...wanted, ['limit', String(MOST_LINES)]]).toString()}`,
  };
}

/** The oldest lines come first. */
export const streamAudit = (
  query: AuditQuery,
  signal: AbortSignal,
  onLine: (line: AuditLineShape) => void,
): Promise<void> => sendForLines(readAudit(query).path, signal, (line) => onLine(line as AuditLineShape));

export const auditVerification = (): Call<AuditVerificationShape> => ({
  method: 'GET',
  path: `${audit}/verification`,
});

export const verifyAudit = (): Call<unknown> => ({ method: 'POST', path: `${audit}/verification` });

export const listBackups = (): Call<BackupListShape> => ({ method: 'GET', path: backups });

export const createBackup = (): Call<unknown> => ({ method: 'POST', path: backups });

export const verifyBackup = (id: string): Call<unknown> => ({
  method: 'POST',
  path: `${backups}/${segment(id)}/verify`,
});

export const deleteBackup = (id: string): Call<BegunJobShape> => ({
  method: 'DELETE',
  path: `${backups}/${segment(id)}`,
});

/** The address of a backup as one archive, for a download. */
export const backupAddress = (id: string): string => `${backups}/${segment(id)}.tar`;

export const serverHistory = (): Call<RememberedEventShape[]> => ({
  method: 'GET',
  path: `v2/admin/history?limit=${MOST_EVENTS}`,
});
