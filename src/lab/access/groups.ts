/** Groups of users, such as a class. A change is durable before anybody can see it. */
import { randomUUID } from 'node:crypto';
import { refusals } from '../../base/errors/errors.js';
import { keepRecords } from '../../base/store/kept-records.js';
import type { Store } from '../../base/store/store.js';
import { Lane } from '../projects/lane.js';
import { groupKey, GROUPS, type Group, type User } from './access-records.js';
import type { Users } from './users.js';

interface GroupsOptions {
  readonly store: Store;
  readonly users: Pick<Users, 'get'>;
  /** The time of day. */
  readonly now: () => number;
}

type GroupFields = Pick<Group, 'name' | 'members' | 'teachers'>;

const MOST_GROUPS = 1000;

export class Groups {
  readonly #options: GroupsOptions;
  readonly #lane: Lane;
  readonly #groups = new Map<string, Group>();
  /** The ids of the members and teachers of each group. */
  readonly #people = new Map<string, ReadonlySet<string>>();

  constructor(options: GroupsOptions) {
    this.#options = options;
    this.#lane = new Lane(options.store);
  }

  async start(): Promise<void> {
    await keepRecords(this.#options.store, {
      at: GROUPS,
      takeOver: ([, id = ''], value) => {
        if (value === undefined) this.#drop(id);
        else this.#put(value as Group);
      },
    });
  }

  /** All groups by their names. */
  list(): Group[] {
    return [...this.#groups.values()].sort((a, b) => (a.name < b.name ? -1 : 1));
  }

  get(id: string): Group | undefined {
    return this.#groups.get(id);
  }

  /** Finds a group by a name in any case. */
  named(name: string): Group | undefined {
    const wanted = name.toLowerCase();
    return [...this.#groups.values()].find((group) => group.name.toLowerCase() === wanted);
  }

  find(name: string): Group {
    const group = this.named(name);
    if (group === undefined) throw refusals.groupUnknown(name);
    return group;
  }

  /** Whether the user is a member or a teacher of the group. */
  has(id: string, userId: string): boolean {
    return this.#people.get(id)?.has(userId) === true;
  }

  /** The users with these ids, without those that are gone. */
  usersOf(ids: readonly string[]): User[] {
    return ids.flatMap((id) => this.#options.users.get(id) ?? []);
  }

  create(fields: GroupFields): Promise<Group> {
    return this.#lane.exclusively(async () => {
      if (this.named(fields.name) !== undefined) throw refusals.groupExists(fields.name);
      if (this.#groups.size >= MOST_GROUPS) throw refusals.tooManyGroups(MOST_GROUPS);
      const created = new Date(this.#options.now()).toISOString();
      return this.#store({ group_id: randomUUID(), ...fields, created_at: created });
    });
  }

  /** Changes the group by what it is at the time. */
  update(id: string, change: (group: Group) => Partial<GroupFields>): Promise<Group> {
    return this.#lane.exclusively(async () => {
      const before = this.#groups.get(id);
      if (before === undefined) throw refusals.groupUnknown(id);
      const group: Group = { ...before, ...change(before) };
      const other = this.named(group.name);
      if (other !== undefined && other.group_id !== id) throw refusals.groupExists(group.name);
      return this.#store(group);
    });
  }

  /** Removes a group; its grants count no more. */
  remove(id: string): Promise<void> {
    return this.#lane.exclusively(async () => {
      await this.#options.store.commit([{ remove: groupKey(id) }]);
      this.#drop(id);
    });
  }

  async #store(group: Group): Promise<Group> {
    await this.#options.store.commit([{ put: groupKey(group.group_id), value: group }]);
    this.#put(group);
    return group;
  }

  #put(group: Group): void {
    this.#groups.set(group.group_id, group);
    this.#people.set(group.group_id, new Set([...group.members, ...group.teachers]));
  }

  #drop(id: string): void {
    this.#groups.delete(id);
    this.#people.delete(id);
  }
}
