/**
 * The audit: one line for each change, refusal and sign-in. Whoever makes a change asks for a note first, and answers when the
 * note is secured. The lines of what has ended are written a moment later, in groups; until then the store has the notes of
 * changes, also when the server is killed.
 */
import type { Logger } from 'pino';
import { refusals } from '../../base/errors/errors.js';
import type { MetricPage } from '../../base/metrics/metric-page.js';
import type { Companion } from '../../base/store/commit-metrics.js';
import type { Store } from '../../base/store/store.js';
import type { TaskRunner } from '../../base/threads/task-pool.js';
import {
  AUDIT_ENTRIES,
  endedText,
  textOf,
  withStatus,
  type AuditEntry,
  type AuditOutcome,
  type AuditTip,
} from './audit-entry.js';
import { AuditNotes, newNote, notesIn, withoutNotes, type AuditNote } from './audit-notes.js';
import type { AuditChoice, AuditPlace, AuditTasks } from './audit-tasks.js';

const WRITE_MS = 400;
const RETRY_MS = 2000;
const HOUR_MS = 3_600_000;
/** One task writes so many lines at most, which the end of a file that it looks through can hold. */
const MOST_AT_ONCE = 1000;
/** So many entries wait while the file cannot be written. */
const MOST_WAITING = 20_000;
/** So many refusals and sign-ins have lines in one second. The others are counted. */
const MOST_TOLD = 200;
const TOLD_MS = 1000;
/** A write that takes longer is in trouble. */
const LONGEST_WRITE_MS = 10_000;

interface AuditOptions {
  readonly store: Pick<Store, 'commit' | 'load'> & { accompany(companion: Companion): void };
  readonly files: TaskRunner<AuditTasks>;
  readonly folder: string;
  readonly log: Logger;
  /** The time of day. */
  readonly now: () => number;
  /** Whether changes are audited just now. */
  readonly isOn: () => boolean;
  /** Whether changes are refused when the audit cannot be written. */
  readonly isRequired: boolean;
}

export class Audit {
  readonly #options: AuditOptions;
  readonly #notes: AuditNotes;
  /** Entries that have ended and have no line yet. */
  #ended: AuditNote[] = [];
  /** Entries that have a line and are in the store still. */
  #written: AuditNote[] = [];
  #underWay = 0;
  #lost = 0;
  #tip: AuditTip | undefined;
  #trouble: string | undefined;
  #writingSince: number | undefined;
  #writing: Promise<void> = Promise.resolve();
  #timer: NodeJS.Timeout | undefined;
  #hourly: NodeJS.Timeout | undefined;
  #told = { since: 0, count: 0 };
  #time = { at: Number.NaN, text: '' };
  #lines = 0;
  #lostInAll = 0;

  constructor(options: AuditOptions) {
    this.#options = options;
    const { store } = options;
    this.#notes = new AuditNotes({ commit: (changes) => store.commit(changes) });
    store.accompany(this.#notes);
  }

  /** Finds the entries that an earlier server left in the store. Its lines are written a moment later. */
  async start(): Promise<void> {
    const left = (await this.#options.store.load(AUDIT_ENTRIES)).flatMap(notesIn);
    // Texts begin with their times.
    this.#ended.push(...left.sort((a, b) => (a.text < b.text ? -1 : 1)));
    if (this.#ended.length > 0 || this.#options.isOn()) this.#soon();
  }

  /** Call it when the server listens: from now on the log is told the last line, once an hour. */
  async listening(): Promise<void> {
    const tell = async (): Promise<void> => {
      const { folder } = this.#options;
      await this.#options.files.run('sweepAudit', { folder, now: this.#options.now() }).catch(this.#fail);
      await this.#write();
      this.#tell();
    };
    this.#hourly = setInterval(() => void tell(), HOUR_MS).unref();
    if (this.isOn) await tell();
  }

  get isOn(): boolean {
    return this.#options.isOn();
  }

  /** The last line that has been written; undefined while it is not known. */
  get tip(): AuditTip | undefined {
    return this.#tip;
  }

  /** The time of an entry that is made now. Many are in the same millisecond, and its text takes longer than all else of an entry. */
  timeText(): string {
    const time = this.#options.now();
    if (time !== this.#time.at) this.#time = { at: time, text: new Date(time).toISOString() };
    return this.#time.text;
  }

  /** The note of a change that begins now. Refuses (507) changes that must have one and cannot. */
  begin(entry: AuditEntry): AuditNote | undefined {
    const { isRequired } = this.#options;
    if (isRequired && this.problem() !== undefined) throw refusals.auditFailing();
    if (this.#ended.length + this.#underWay >= MOST_WAITING) {
      if (isRequired) throw refusals.auditFailing();
      this.#lose();
      return undefined;
    }
    this.#underWay++;
    return this.#notes.add(entry);
  }

  /** Resolves when a change may be answered: the store has its note. */
  secured(note: AuditNote): Promise<void> {
    return this.#notes.secured(note);
  }

  /** The change of the note has been answered, or nobody waits for its answer any more. */
  end(note: AuditNote, outcome: AuditOutcome): void {
    if ((outcome.status ?? 0) >= 400) this.#notes.drop(note);
    this.#underWay--;
    this.#hasEnded(note, outcome);
  }

  /** Adds an entry about a request that changed nothing. */
  tell(entry: AuditEntry, status: number | null): void {
    const now = performance.now();
    if (now - this.#told.since > TOLD_MS) this.#told = { since: now, count: 0 };
    if (this.#told.count >= MOST_TOLD || this.#ended.length >= MOST_WAITING) {
      this.#lose();
      return;
    }
    this.#told.count++;
    this.#hasEnded(newNote(entry), { status, ids: {} });
  }

  /** The reason why nothing can be written, for people. */
  problem(): string | undefined {
    if (this.#trouble !== undefined) return `audit: ${this.#trouble}`;
    const since = this.#writingSince ?? Infinity;
    return performance.now() - since > LONGEST_WRITE_MS ? 'audit: a write does not end' : undefined;
  }

  /** Lines from a place on. */
  read(
    choice: AuditChoice,
    from: AuditPlace | undefined,
    most: number,
  ): Promise<ReturnType<AuditTasks['readAudit']>> {
    const { files, folder } = this.#options;
    return files.run('readAudit', { folder, choice, from, most });
  }

  readonly writeMetrics = (page: MetricPage): void => {
    page.counter('audit_lines', 'Lines of the audit that have been written');
    page.sample(this.#lines);
    page.counter('audit_lost', 'Entries that were too many for the audit');
    page.sample(this.#lostInAll);
    page.gauge('audit_waiting', 'Entries that have ended and have no line, or are in the store still');
    page.sample(this.#ended.length + this.#written.length);
  };

  async close(): Promise<void> {
    clearInterval(this.#hourly);
    await this.#write(true);
    clearTimeout(this.#timer);
    if (this.#hourly !== undefined) this.#tell();
  }

  #hasEnded(note: AuditNote, outcome: AuditOutcome): void {
    note.text = endedText(note.text, outcome);
    note.status = outcome.status;
    note.hasEnded = true;
    this.#ended.push(note);
    this.#soon();
  }

  #lose(): void {
    this.#lost++;
    this.#lostInAll++;
    this.#soon();
  }

  #soon(): void {
    const wait = this.#trouble === undefined ? WRITE_MS : RETRY_MS;
    this.#timer ??= setTimeout(() => void this.#write(), wait).unref();
  }

  /** Writes what has ended, one write at a time; the last time, nothing may stay. */
  #write(isLast = false): Promise<void> {
    clearTimeout(this.#timer);
    this.#timer = undefined;
    const work = async (): Promise<void> => {
      try {
        do await this.#writeSome();
        while (this.#ended.length >= (isLast ? 1 : MOST_AT_ONCE));
        this.#trouble = undefined;
        // Entries that have come meanwhile wait for more: each write is two syncs of the disk.
        if (this.#ended.length > 0) this.#soon();
      } catch (error) {
        this.#fail(error);
        this.#soon();
      }
    };
    this.#writing = this.#writing.then(work);
    return this.#writing;
  }

  async #writeSome(): Promise<void> {
    const { files, folder, now } = this.#options;
    await this.#clear();
    const notes = this.#ended.slice(0, MOST_AT_ONCE);
    const lost = this.#lost;
    const entries = notes.map(({ text, status }) => withStatus(text, status));
    if (lost > 0) entries.push(withStatus(textOf(lostEntries(lost, now())), null));
    this.#writingSince = performance.now();
    try {
      this.#tip = await files.run('appendAudit', { folder, now: now(), entries, tip: this.#tip });
    } catch (error) {
      // A part of it may be there.
      this.#tip = undefined;
      throw error;
    } finally {
      this.#writingSince = undefined;
    }
    this.#ended.splice(0, notes.length);
    this.#lost -= lost;
    this.#lines += entries.length;
    for (const note of notes) this.#notes.drop(note);
    this.#written = notes.filter(({ stored }) => stored !== 'no');
    await this.#clear();
  }

  /** Takes what has lines out of the store. No more is written before that, so that a start has few lines to compare. */
  async #clear(): Promise<void> {
    const { store } = this.#options;
    // Commits are carried out in order, so those that are under way have ended when this one has.
    if (this.#written.some(({ stored }) => stored === 'under way')) await store.commit([]);
    const stored = this.#written.filter(({ record }) => record !== undefined);
    if (stored.length > 0) await store.commit(withoutNotes(stored));
    this.#written = [];
  }

  readonly #fail = (error: unknown): void => {
    const reason = error instanceof Error ? error.message : String(error);
    if (this.#trouble === undefined)
      this.#options.log.error({ err: error }, 'the audit cannot be written: its lines wait');
    this.#trouble = reason;
  };

  #tell(): void {
    if (this.#tip !== undefined) this.#options.log.info({ audit: this.#tip }, 'the last line of the audit');
  }
}

function lostEntries(count: number, now: number): AuditEntry {
  return {
    ...{ time: new Date(now).toISOString(), req: `${count} entries`, kind: 'lost' },
    ...{ user: null, user_id: null, token: null, address: null, method: null, route: null },
    ...{ ids: {}, body: null },
  };
}
