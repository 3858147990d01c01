/** The revisions of etcd, sorted out by objects and scopes. */
import { scopeOf, type SoakHistory, type StoredChange } from './history.js';

/** A value was the one of its object from a revision on, up to another one. */
interface Interval {
  readonly value: string | undefined;
  readonly from: number;
  readonly to: number;
}

export interface Tenure {
  readonly server: string;
  readonly from: number;
  to: number;
}

export class StoredHistory {
  readonly #values = new Map<string, Interval[]>();
  readonly #tenures = new Map<string, Tenure[]>();
  readonly #counts = new Map<number, number>();
  readonly changes: readonly StoredChange[];
  /** An owner has replaced another one whose claim was not over. */
  readonly overlaps: string[] = [];

  constructor({ changes, owners }: SoakHistory) {
    this.changes = changes;
    for (const { object, value, revision } of changes) {
      this.#counts.set(revision, (this.#counts.get(revision) ?? 0) + 1);
      const intervals = this.intervals(object);
      const last = intervals.at(-1);
      if (last?.value === value) continue;
      if (last !== undefined) intervals[intervals.length - 1] = { ...last, to: revision };
      intervals.push({ value, from: revision, to: Infinity });
      this.#values.set(object, intervals);
    }
    for (const { scope, server, revision } of owners) {
      const tenures = this.#tenures.get(scope) ?? [];
      this.#tenures.set(scope, tenures);
      const last = tenures.at(-1);
      if (last?.to === Infinity) {
        if (server !== undefined && server !== last.server)
          this.overlaps.push(`${server} and ${last.server} own ${scope} in one epoch`);
        if (server === last.server) continue;
        last.to = revision;
      }
      if (server !== undefined) tenures.push({ server, from: revision, to: Infinity });
    }
  }

  /** Whether several objects were changed at once. */
  isShared(revision: number): boolean {
    return (this.#counts.get(revision) ?? 0) > 1;
  }

  get objects(): Iterable<string> {
    return this.#values.keys();
  }

  /** The values of an object, one after the other. The first is that nothing is there. */
  intervals(object: string): Interval[] {
    return this.#values.get(object) ?? [{ value: undefined, from: 0, to: Infinity }];
  }

  /** The first time that the object had this value, after it had another. */
  whenSet(object: string, value: string | undefined): Interval | undefined {
    return this.intervals(object).find((each) => each.value === value && each.from > 0);
  }

  /** The owner of the object's project at a revision. */
  tenureOf(object: string, revision: number): Tenure | undefined {
    return this.#tenures.get(scopeOf(object))?.find(({ from, to }) => from <= revision && revision <= to);
  }
}
