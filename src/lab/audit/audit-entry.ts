/** The audit, an entry at a time: who did what, from where, and how it ended. */
import { hash } from 'node:crypto';
import type { Key } from '../../base/store/store.js';

/**
 * `command` is a change by a program of this machine while no server ran. `ticket` is the use of one, by whoever had it. `lost`
 * says how many entries were not kept.
 */
type AuditKind = 'change' | 'command' | 'lost' | 'refused' | 'sign_in' | 'ticket';

/** The facts that are known before a change is made. The store has them until their line is in the file. */
export interface AuditEntry {
  readonly time: string;
  /** The id of the request. With the time, an entry is known by it. */
  readonly req: string;
  readonly kind: AuditKind;
  readonly user: string | null;
  readonly user_id: string | null;
  readonly token: string | null;
  readonly address: string | null;
  readonly method: string | null;
  readonly route: string | null;
  /** The parameters of the path, and the id of what was made. */
  readonly ids: Readonly<Record<string, string>>;
  /** The SHA-256 digest of the JSON body without secrets; null without such a body. */
  readonly body: string | null;
}

/** The end of a request. The status is null when the server ended, or the client went, before the answer. */
export interface AuditOutcome {
  readonly status: number | null;
  readonly ids: Readonly<Record<string, string>>;
  /** The user who has signed in by the request. */
  readonly signedIn?: Pick<AuditEntry, 'user' | 'user_id'> | undefined;
}

const REFUSED = new Set<number | null>([401, 403]);

/** The text of an entry, which the store has, and from which its line is made. */
export const textOf = (entry: AuditEntry): string => JSON.stringify(entry);

/** The text of an entry whose request has ended. */
export function endedText(text: string, { status, ids, signedIn }: AuditOutcome): string {
  const isRefused = REFUSED.has(status);
  if (!isRefused && signedIn === undefined && Object.keys(ids).length === 0) return text;
  const entry = JSON.parse(text) as AuditEntry;
  const kind = isRefused ? 'refused' : entry.kind;
  return textOf({ ...entry, ...signedIn, kind, ids: { ...entry.ids, ...ids } });
}

/** The last line of the audit: its number, and the digest of its text. */
export interface AuditTip {
  readonly sequence: number;
  readonly digest: string;
}

/** The tip before the first line. */
export const NO_LINE: AuditTip = { sequence: 0, digest: '' };

/** Where entries lie in the store until their lines are on the disk. */
export const AUDIT_ENTRIES: Key = ['audit'];

/** The parts of entries and lines by which they are known. */
export function marksIn(text: string): readonly string[] {
  return text.match(/"time":"[^"]*","req":"[^"]*"/g) ?? [];
}

export function digestOfLine(line: string): string {
  return hash('sha256', line);
}

/** The text of an entry with its end. */
export function withStatus(text: string, status: number | null): string {
  return `${text.slice(0, -1)},"status":${String(status)}}`;
}

/** A line begins with its number, and ends with the digest of the line before. */
export function lineOf({ sequence, digest: before }: AuditTip, text: string): string {
  return `{"sequence":${sequence + 1},${text.slice(1, -1)},"before":"${before}"}`;
}
