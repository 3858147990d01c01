/**
 * The entries of changes that are under way. Each is noted before its change is made, and goes along with the next commit,
 * whichever it is: so it is in the store when the change is. The entry leaves the store when its line is in the file.
 */
import { setImmediate as nextTurn } from 'node:timers/promises';
import { packChanges } from '../../base/store/packing.js';
import type { Companion, CompanionPart } from '../../base/store/commit-metrics.js';
import type { Change } from '../../base/store/store.js';
import { auditKey, type AuditEntry, type AuditOutcome } from './audit-entry.js';

export interface AuditNote {
  readonly entry: AuditEntry;
  outcome: AuditOutcome | undefined;
  /** Whether the store has it. */
  stored: 'no' | 'under way' | 'yes';
}

interface AuditNotesOptions {
  readonly commit: (changes: readonly Change[]) => Promise<void>;
}

export class AuditNotes implements Companion {
  readonly #options: AuditNotesOptions;
  /** The notes that the next commit takes along. */
  readonly #waiting = new Set<AuditNote>();
  #flush: Promise<void> | undefined;

  constructor(options: AuditNotesOptions) {
    this.#options = options;
  }

  add(entry: AuditEntry): AuditNote {
    const note: AuditNote = { entry, outcome: undefined, stored: 'no' };
    this.#waiting.add(note);
    return note;
  }

  /** The store does not need it: its line is in the file, or nothing was changed. */
  drop(note: AuditNote): void {
    this.#waiting.delete(note);
  }

  readonly part = (): CompanionPart | undefined => {
    if (this.#waiting.size === 0) return undefined;
    const notes = [...this.#waiting];
    this.#waiting.clear();
    for (const note of notes) note.stored = 'under way';
    return {
      changes: packChanges(notes.map(({ entry }) => ({ put: auditKey(entry), value: entry }))),
      ended: (isStored) => {
        for (const note of notes) {
          note.stored = isStored ? 'yes' : 'no';
          if (!isStored && note.outcome === undefined) this.#waiting.add(note);
        }
      },
    };
  };

  /** Resolves when the store has the note, or could not take it. Notes that no change has taken along share a commit. */
  async secured(note: AuditNote): Promise<void> {
    if (note.stored === 'yes') return;
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
