/**
 * The files of the audit, for a file thread: one a day, named after it, whose lines are only ever added. Each has the digest of
 * the line before, across days, so that none can be removed, changed or moved unseen.
 */
import {
  closeSync,
  constants,
  fdatasyncSync,
  fstatSync,
  ftruncateSync,
  openSync,
  readdirSync,
  readSync,
  rmSync,
} from 'node:fs';
import { join } from 'node:path';
import { systemCode } from '../../base/errors/errors.js';
import { makeFolder, syncFolder, writeWhole } from '../../base/disk/published-file.js';
import type { TaskTable } from '../../base/threads/task.js';
import { digestOfLine, lineOf, marksIn, NO_LINE, type AuditEntry, type AuditTip } from './audit-entry.js';

const FILE = /^\d{4}-\d\d-\d\d\.jsonl$/;
const KEPT_DAYS = 90;
const DAY_MS = 86_400_000;
const APPEND = constants.O_RDWR | constants.O_CREAT | constants.O_NOFOLLOW;
const NEWLINE = 0x0a;
/** The end of a file that holds all that one task may have added. */
const TAIL_BYTES = 4 * 1024 * 1024;
const LINE_TAIL_BYTES = 64 * 1024;
/** So much of the files is looked through by one task. */
const PIECE_BYTES = 256 * 1024;

const NO_MARKS: ReadonlySet<string> = new Set();

/** A place between two lines. */
export interface AuditPlace {
  readonly file: string;
  readonly position: number;
}

/** The lines that are asked for. */
export interface AuditChoice {
  /** The name or the id of a user. */
  readonly user: string | undefined;
  readonly project: string | undefined;
  /** Milliseconds since 1970. */
  readonly since: number;
}

export interface AuditTasks extends TaskTable {
  /**
   * Adds lines and syncs them; returns the last line. Without the tip, entries whose lines are there already are left out: an
   * earlier task may have been cut short.
   */
  readonly appendAudit: (input: {
    folder: string;
    now: number;
    /** The texts of entries with their ends. */
    entries: readonly string[];
    tip: AuditTip | undefined;
  }) => AuditTip;
  /** Lines from a place on, or from the beginning; `next` is undefined at the end. */
  readonly readAudit: (input: {
    folder: string;
    from: AuditPlace | undefined;
    choice: AuditChoice;
    most: number;
  }) => { readonly text: string; readonly lines: number; readonly next: AuditPlace | undefined };
  /** Removes the files that are too old. */
  readonly sweepAudit: (input: { folder: string; now: number }) => void;
}

export const auditTasks: AuditTasks = {
  appendAudit({ folder, now, entries, tip }) {
    makeFolder(folder);
    const newest = auditFiles(folder).at(-1);
    const today = `${dayOf(now)}.jsonl`;
    // A clock that was set back does not put lines before older ones.
    const name = newest !== undefined && newest > today ? newest : today;
    const before = tip ?? (newest === undefined ? NO_LINE : tipOf(join(folder, newest)));
    const known = tip === undefined && newest !== undefined ? marksAt(join(folder, newest)) : NO_MARKS;
    const lines: string[] = [];
    let last = before;
    for (const text of entries) {
      if (known.size > 0 && known.has(marksIn(text)[0] ?? '')) continue;
      const line = lineOf(last, text);
      lines.push(line);
      last = { sequence: last.sequence + 1, digest: digestOfLine(line) };
    }
    append(folder, name, lines);
    return last;
  },

  readAudit({ folder, from, choice, most }) {
    const oldest = Number.isFinite(choice.since) && choice.since > 0 ? `${dayOf(choice.since)}.jsonl` : '';
    const files = auditFiles(folder).filter((file) => file >= (from?.file ?? oldest));
    const [file, after] = files;
    if (file === undefined) return { text: '', lines: 0, next: undefined };
    const position = from?.file === file ? from.position : 0;
    const { lines, end } = linesAt(join(folder, file), position);
    const following = after === undefined ? undefined : { file: after, position: 0 };
    const chosen = lines.filter((line) => isChosen(line, choice)).slice(0, most);
    return {
      text: chosen.map((line) => `${line}\n`).join(''),
      lines: chosen.length,
      next: end > position ? { file, position: end } : following,
    };
  },

  sweepAudit({ folder, now }) {
    const oldest = `${dayOf(now - KEPT_DAYS * DAY_MS)}.jsonl`;
    for (const file of auditFiles(folder)) if (file < oldest) rmSync(join(folder, file), { force: true });
  },
};

/** The names of the files, oldest first. */
export function auditFiles(folder: string): readonly string[] {
  try {
    return readdirSync(folder)
      .filter((name) => FILE.test(name))
      .sort();
  } catch (error) {
    if (systemCode(error) === 'ENOENT') return [];
    throw error;
  }
}

function dayOf(time: number): string {
  return new Date(time).toISOString().slice(0, 10);
}

function marksAt(path: string): ReadonlySet<string> {
  return new Set(marksIn(endOf(path, TAIL_BYTES)));
}

/** A last line that is no line of the audit has the number after that of the line before it. */
function tipOf(path: string): AuditTip {
  const lines = endOf(path, LINE_TAIL_BYTES)
    .split('\n')
    .filter((line) => line !== '');
  const last = lines.at(-1);
  if (last === undefined) return NO_LINE;
  const numbers = lines.map(numberOf);
  const known = numbers.findLastIndex((number) => number !== undefined);
  return { sequence: (numbers[known] ?? 0) + (lines.length - 1 - known), digest: digestOfLine(last) };
}

function numberOf(line: string): number | undefined {
  const [, digits] = /^\{"sequence":(\d{1,15}),/.exec(line) ?? [];
  return digits === undefined ? undefined : Number(digits);
}

/** The last whole lines of a file. */
function endOf(path: string, most: number): string {
  const fd = openSync(path, constants.O_RDONLY | constants.O_NOFOLLOW);
  try {
    const { size } = fstatSync(fd);
    const text = readAt(fd, Math.max(0, size - most), most).toString();
    const first = size > most ? text.indexOf('\n') + 1 : 0;
    return text.slice(first, text.lastIndexOf('\n') + 1);
  } finally {
    closeSync(fd);
  }
}

function readAt(fd: number, position: number, most: number): Buffer {
  const bytes = Buffer.alloc(most);
  let length = 0;
  for (;;) {
    const read = readSync(fd, bytes, length, most - length, position + length);
    length += read;
    if (read === 0 || length === most) return bytes.subarray(0, length);
  }
}

/** A task that fails leaves no line. Opening the file shows that it can be written, also without lines. */
function append(folder: string, name: string, lines: readonly string[]): void {
  const isNew = !auditFiles(folder).includes(name);
  const fd = openSync(join(folder, name), APPEND, 0o600);
  try {
    const end = endOfLines(fd);
    try {
      writeWhole(fd, Buffer.from(lines.map((line) => `${line}\n`).join('')), end);
      fdatasyncSync(fd);
    } catch (error) {
      ftruncateSync(fd, end);
      throw error;
    }
  } finally {
    closeSync(fd);
  }
  if (isNew) syncFolder(folder);
}

/** The end of the last whole line, which is that of the file unless a server died while it wrote: the rest is cut off. */
function endOfLines(fd: number): number {
  const { size } = fstatSync(fd);
  if (size === 0 || readAt(fd, size - 1, 1)[0] === NEWLINE) return size;
  const from = Math.max(0, size - TAIL_BYTES);
  const end = from + readAt(fd, from, TAIL_BYTES).lastIndexOf(NEWLINE) + 1;
  if (end < size) ftruncateSync(fd, end);
  return end;
}

/** The whole lines of the next piece of a file, and where they end. */
function linesAt(path: string, position: number): { readonly lines: string[]; readonly end: number } {
  const fd = openSync(path, constants.O_RDONLY | constants.O_NOFOLLOW);
  try {
    const bytes = readAt(fd, position, PIECE_BYTES);
    const length = bytes.lastIndexOf(NEWLINE) + 1;
    // A line that is longer than a piece is none of the audit: it is passed over.
    const end = position + (length === 0 && bytes.length === PIECE_BYTES ? PIECE_BYTES : length);
    return { lines: bytes.toString('utf8', 0, length).split('\n').slice(0, -1), end };
  } finally {
    closeSync(fd);
  }
}

function isChosen(line: string, { user, project, since }: AuditChoice): boolean {
  const entry = entryIn(line);
  if (entry === undefined) return false;
  return (
    Date.parse(entry.time ?? '') >= since &&
    (user === undefined || entry.user === user || entry.user_id === user) &&
    (project === undefined || entry.ids?.['project_id'] === project)
  );
}

function entryIn(line: string): Partial<AuditEntry> | undefined {
  try {
    const value: unknown = JSON.parse(line);
    return typeof value === 'object' && value !== null ? value : undefined;
  } catch {
    return undefined;
  }
}
