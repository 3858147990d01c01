/**
 * The records that every server of a farm has in memory: accounts, templates, and what is known about projects. A server
 * that owns their scope is the only one to change them, and knows what it changes; of all others it is told by the store.
 */
import { isDeepStrictEqual } from 'node:util';
import type { TakeOver } from '../base/store/kept-records.js';
import type { Change, Key, StoredRecord } from '../base/store/store.js';
import type { RecordListener } from './followed-records.js';

interface FarmRecordsOptions {
  /** The scope that these keys are part of. */
  readonly scopeOf: (key: Key) => string;
  /** Whether this server has the scope. */
  readonly isHere: (scope: string) => boolean;
}

/** A record, or the key of one that is gone, for whose value there is undefined. */
type Entry = StoredRecord;

const textOf = (key: Key): string => JSON.stringify(key);

function isBelow(key: Key, path: Key): boolean {
  return path.every((part, index) => key[index] === part);
}

export class FarmRecords implements RecordListener {
  readonly #options: FarmRecordsOptions;
  /** The records as the keepers have them. */
  readonly #known = new Map<string, StoredRecord>();
  /** The last word of the store on records whose scopes are here: of interest when they are not any more. */
  readonly #seen = new Map<string, Entry>();
  readonly #keepers: { readonly at: Key; readonly takeOver: TakeOver }[] = [];

  constructor(options: FarmRecordsOptions) {
    this.#options = options;
  }

  /** Returns the records below the path; the keeper is told of what others change from then on. */
  keep(at: Key, takeOver: TakeOver): readonly StoredRecord[] {
    this.#keepers.push({ at, takeOver });
    return [...this.#known.values()].filter(({ key }) => isBelow(key, at));
  }

  replaced(records: readonly StoredRecord[]): void {
    this.#become(
      records,
      () => true,
      (entry) => {
        this.#told(entry);
      },
    );
  }

  changed(changes: readonly Change[]): void {
    for (const change of changes) for (const entry of this.#entriesOf(change)) this.#told(entry);
  }

  /** This server has changed what it owns. */
  committed(changes: readonly Change[]): void {
    for (const change of changes) {
      for (const { key, value } of this.#entriesOf(change)) {
        if (value === undefined) this.#known.delete(textOf(key));
        else this.#known.set(textOf(key), { key, value });
      }
    }
  }

  /** A commit of this server was refused, after which the keepers have what they had before. */
  refused(changes: readonly Change[]): void {
    for (const change of changes) {
      for (const { key } of this.#entriesOf(change)) {
        if (!this.#isHere(key)) this.#tell({ key, value: this.#known.get(textOf(key))?.value });
      }
    }
  }

  /** This server has the scope: these are its records. */
  claimed(scope: string, records: readonly StoredRecord[]): void {
    const isOfScope = ({ key }: StoredRecord): boolean => this.#options.scopeOf(key) === scope;
    for (const [text, entry] of this.#seen) if (isOfScope(entry)) this.#seen.delete(text);
    this.#become(records, isOfScope, (entry) => {
      this.#takeOver(entry);
    });
  }

  /** This server does not have the scope any more. */
  ended(scope: string): void {
    for (const [text, entry] of this.#seen) {
      if (this.#options.scopeOf(entry.key) !== scope) continue;
      this.#seen.delete(text);
      this.#takeOver(entry);
    }
  }

  #isHere(key: Key): boolean {
    return this.#options.isHere(this.#options.scopeOf(key));
  }

  /** Hands on what makes the known records of a part these ones. */
  #become(
    records: readonly StoredRecord[],
    isOfPart: (record: StoredRecord) => boolean,
    handOn: (entry: Entry) => void,
  ): void {
    const left = new Set(records.map(({ key }) => textOf(key)));
    const gone = [...this.#known].filter(([text, record]) => !left.has(text) && isOfPart(record));
    for (const [, { key }] of gone) handOn({ key, value: undefined });
    for (const record of records) handOn(record);
  }

  #told(entry: Entry): void {
    if (this.#isHere(entry.key)) this.#seen.set(textOf(entry.key), entry);
    else this.#takeOver(entry);
  }

  #takeOver(entry: Entry): void {
    const text = textOf(entry.key);
    if (isDeepStrictEqual(this.#known.get(text)?.value, entry.value)) return;
    if (entry.value === undefined) this.#known.delete(text);
    else this.#known.set(text, entry);
    this.#tell(entry);
  }

  #tell({ key, value }: Entry): void {
    for (const { at, takeOver } of this.#keepers) if (isBelow(key, at)) takeOver(key, value);
  }

  #entriesOf(change: Change): readonly Entry[] {
    if ('put' in change) return [{ key: change.put, value: change.value }];
    if ('remove' in change) return [{ key: change.remove, value: undefined }];
    const all = [...this.#known.values(), ...this.#seen.values()].filter(({ key }) =>
      isBelow(key, change.clear),
    );
    return all.map(({ key }) => ({ key, value: undefined }));
  }
}
