/**
 * The entries of changes that are under way. Each is noted before its change is made, and goes along with the next commit,
 * whichever it is: so it is in the store when the change is. Those of one commit are one record there, from which an entry goes
 * when its line is in the file.
 */
import { setImmediate as nextTurn } from 'node:timers/promises';
import { Members, type Member } from '../../base/members.js';
import type { Companion, CompanionPart } from '../../base/store/commit-metrics.js';
import type { Change, Key, StoredRecord } from '../../base/store/store.js';
import { AUDIT_ENTRIES, textOf, type AuditEntry } from './audit-entry.js';

/** The record of the store that has these notes. */
interface NotesRecord {
  readonly key: Key;
  notes: readonly AuditNote[];
}

/** An entry is kept as a text, because thousands of them may wait for their lines. */
export interface AuditNote extends Member {
  text: string;
  /** The user who has sent the request. */
  readonly userId: string | null;
  hasEnded: boolean;
  /** Null when the server ended, or the client went, before the answer. */
  status: number | null;
  /** Whether the store has it. */
  stored: 'no' | 'under way' | 'yes';
  record: NotesRecord | undefined;
}

/** The marks at the start of a text. */
const MARK = /^\{"time":"([^"]*)","req":"([^"]*)"/;

/** Whether the store has the note. */
export const isStored = ({ stored }: AuditNote): boolean => stored === 'yes';

interface AuditNotesOptions {
  readonly commit: (changes: readonly Change[]) => Promise<void>;
}

export const newNote = (entry: AuditEntry): AuditNote => noteOf(textOf(entry), entry.user_id);

function noteOf(text: string, userId: string | null): AuditNote {
  return { text, userId, hasEnded: false, status: null, stored: 'no', record: undefined, place: -1 };
}

/** The notes that an earlier server has left, which may have stored one entry a record. */
export function notesIn({ key, value }: StoredRecord): readonly AuditNote[] {
  const record: NotesRecord = { key, notes: [] };
  const texts = typeof value === 'string' ? value.split('\n') : [textOf(value as AuditEntry)];
  record.notes = texts.map((text) => ({ ...noteOf(text, null), hasEnded: true, stored: 'yes', record }));
  return record.notes;
}

/** The changes that take notes out of the store, which has all of them. */
export function withoutNotes(notes: readonly AuditNote[]): Change[] {
  const gone = new Set(notes);
  const records = new Set(notes.flatMap(({ record }) => record ?? []));
  return [...records].map((record) => {
    record.notes = record.notes.filter((note) => !gone.has(note));
    if (record.notes.length === 0) return { remove: record.key };
    return { put: record.key, value: valueOf(record.notes) };
  });
}

/** The key of a record that begins with this note. */
function keyFor({ text }: AuditNote): Key {
  const [, time = '', req = ''] = MARK.exec(text) ?? [];
  return [...AUDIT_ENTRIES, `${time} ${req}`];
}

function valueOf(notes: readonly AuditNote[]): string {
  return notes.map(({ text }) => text).join('\n');
}

export class AuditNotes implements Companion {
  readonly #options: AuditNotesOptions;
  /** The notes that the next commit takes along. */
  readonly #waiting = new Members<AuditNote>();
  #flush: Promise<void> | undefined;

  constructor(options: AuditNotesOptions) {
    this.#options = options;
  }

  add(entry: AuditEntry): AuditNote {
    const note = newNote(entry);
    this.#waiting.add(note);
    return note;
  }

  /** The store does not need it: its line is in the file, or nothing was changed. */
  drop(note: AuditNote): void {
    this.#waiting.remove(note);
  }

  readonly part = (): CompanionPart | undefined => {
    const notes = this.#waiting.all();
    const [first] = notes;
    if (first === undefined) return undefined;
    const record = { key: keyFor(first), notes };
    for (const note of notes) {
      this.#waiting.remove(note);
      note.stored = 'under way';
    }
    return {
      changes: [{ put: record.key, value: valueOf(notes) }],
      ended: (isStored) => {
        for (const note of notes) {
          note.stored = isStored ? 'yes' : 'no';
          if (isStored) note.record = record;
          else if (!note.hasEnded) this.#waiting.add(note);
        }
      },
    };
  };

  /** Resolves when the store has the note, or could not take it. Notes that no change has taken along share a commit. */
  async secured(note: AuditNote): Promise<void> {
    if (isStored(note)) return;
    this.#flush ??= this.#commitAlone();
    await this.#flush;
  }

  async #commitAlone(): Promise<void> {
    await nextTurn();
    this.#flush = undefined;
    // The store carries out commits in order, so this one ends after those that are under way.
    await this.#options.commit([]).catch(() => undefined);
  }
}
