/** The projects of a farm as every server follows them: those that others own are listed from here. */
import type { Change, StoredRecord } from '../base/store/store.js';
import { projectText } from '../lab/projects/project-state.js';
import type { ListedProject } from '../lab/projects/elsewhere.js';
import { sortOut } from '../lab/projects/records.js';
import type { GivenLoads } from '../lab/projects/given-room.js';
import type { FollowedGiven } from './placements.js';
import { keyOf, type RecordListener } from './followed-records.js';

interface FollowedProjectsOptions {
  /** Called for a project that is open, on whichever server, whenever something of it changes. */
  readonly opened: (id: string) => void;
}

export class FollowedProjects implements RecordListener {
  readonly #options: FollowedProjectsOptions;
  /** By the ids of projects, and by the last part of their keys. */
  readonly #records = new Map<string, Map<string, StoredRecord>>();
  readonly #listed = new Map<string, ListedProject>();

  constructor(options: FollowedProjectsOptions) {
    this.#options = options;
  }

  get listed(): ReadonlyMap<string, ListedProject> {
    return this.#listed;
  }

  /** Whether the project is open, on whichever server. */
  isOpen(id: string): boolean {
    return this.#records.get(id)?.has('open') === true;
  }

  /** The server that has the files of the project. */
  homeOf(id: string): string | undefined {
    const home = this.#records.get(id)?.get('home')?.value;
    return typeof home === 'string' ? home : undefined;
  }

  /** The room that the open projects have given out. */
  *given(): Generator<FollowedGiven> {
    for (const [project, records] of this.#records) {
      const given = records.get('given')?.value;
      if (given !== undefined && records.has('open'))
        yield { project, home: this.homeOf(project), given: given as GivenLoads };
    }
  }

  replaced(records: readonly StoredRecord[]): void {
    const before = [...this.#records.keys()];
    this.#records.clear();
    for (const record of records) this.#put(record);
    for (const id of new Set([...before, ...this.#records.keys()])) this.#list(id);
  }

  changed(changes: readonly Change[]): void {
    for (const change of changes) {
      const [, id = '', kind] = keyOf(change);
      if ('put' in change) this.#put({ key: change.put, value: change.value });
      else if (kind === undefined) this.#records.delete(id);
      else this.#remove(id, kind);
    }
    for (const id of new Set(changes.map((change) => keyOf(change)[1] ?? ''))) this.#list(id);
  }

  #put(record: StoredRecord): void {
    const [, id = '', kind = ''] = record.key;
    const known = this.#records.get(id) ?? new Map<string, StoredRecord>();
    this.#records.set(id, known.set(kind, record));
  }

  #remove(id: string, kind: string): void {
    const known = this.#records.get(id);
    known?.delete(kind);
    if (known?.size === 0) this.#records.delete(id);
  }

  #list(id: string): void {
    const state = sortOut([...(this.#records.get(id)?.values() ?? [])]);
    if (state === undefined) this.#listed.delete(id);
    else {
      const { project } = state;
      const text = projectText(id, project, this.isOpen(id) ? 'opened' : 'closed');
      this.#listed.set(id, { id, name: project.settings.name, order: project.order, text });
    }
    if (this.isOpen(id)) this.#options.opened(id);
  }
}
