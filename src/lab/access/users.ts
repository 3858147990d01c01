/**
 * The users of this server. A change is durable before anybody can see it. A record is replaced and never changed, so that
 * whoever holds one can tell whether it is still the user's.
 */
import { randomUUID } from 'node:crypto';
import { refusals } from '../../base/errors/errors.js';
import { keepRecords } from '../../base/store/kept-records.js';
import type { Change, Store } from '../../base/store/store.js';
import { Lane } from '../projects/lane.js';
import { tokensOf, userKey, USERS, usesOf, type User } from './access-records.js';
import type { Passwords } from './passwords.js';
import type { Limits } from '../quotas/resources.js';
import type { Role } from './roles.js';

interface UsersOptions {
  readonly store: Store;
  readonly passwords: Passwords;
  /** Whether somebody can administer the server who is none of its users. */
  readonly hasBuiltInAdmin: boolean;
  /** The time of day. */
  readonly now: () => number;
}

interface NewUser {
  readonly name: string;
  readonly role: Role;
  readonly password: string | null;
  readonly quota?: Limits | undefined;
}

const MOST_USERS = 10_000;

export class Users {
  readonly #options: UsersOptions;
  readonly #lane: Lane;
  readonly #users = new Map<string, User>();
  /** The users by their names in lower case. */
  readonly #named = new Map<string, User>();

  constructor(options: UsersOptions) {
    this.#options = options;
    this.#lane = new Lane(options.store);
  }

  async start(): Promise<void> {
    await keepRecords(this.#options.store, {
      at: USERS,
      takeOver: ([, id = ''], value) => {
        const before = this.#users.get(id);
        if (before !== undefined) this.#drop(before);
        if (value !== undefined) this.#put(value as User);
      },
    });
  }

  get size(): number {
    return this.#users.size;
  }

  /** All users by their names. */
  list(): User[] {
    return [...this.#users.values()].sort((a, b) => (a.name < b.name ? -1 : 1));
  }

  get(id: string): User | undefined {
    return this.#users.get(id);
  }

  find(id: string): User {
    const user = this.#users.get(id);
    if (user === undefined) throw refusals.userUnknown(id);
    return user;
  }

  /** Finds a user by a name in any case. */
  named(name: string): User | undefined {
    return this.#named.get(name.toLowerCase());
  }

  async create({ name, role, password, quota = {} }: NewUser): Promise<User> {
    const hash = await this.#hash(password);
    return this.#lane.exclusively(async () => {
      this.#checkName(name, undefined);
      if (this.size >= MOST_USERS) throw refusals.tooManyUsers(MOST_USERS);
      if (this.size === 0 && !this.#canAdminister(role, hash)) throw refusals.firstAdmin();
      const created = new Date(this.#options.now()).toISOString();
      const user: User = { user_id: randomUUID(), name, role, password: hash, created_at: created, quota };
      await this.#store([{ put: userKey(user.user_id), value: user }]);
      this.#put(user);
      return user;
    });
  }

  /** Changes the fields that are given; the password null takes it away. */
  async update(id: string, wanted: { [Key in keyof NewUser]?: NewUser[Key] | undefined }): Promise<User> {
    const { name, role, password, quota } = wanted;
    const hash = password === undefined ? undefined : await this.#hash(password);
    return this.#lane.exclusively(async () => {
      const before = this.find(id);
      const user: User = {
        ...before,
        name: name ?? before.name,
        role: role ?? before.role,
        password: hash === undefined ? before.password : hash,
        quota: quota ?? before.quota ?? {},
      };
      this.#checkName(user.name, id);
      if (!this.#canAdminister(user.role, user.password)) this.#checkOtherAdmin(id);
      await this.#store([{ put: userKey(id), value: user }]);
      this.#drop(before);
      this.#put(user);
      return user;
    });
  }

  /** Removes a user with all tokens. */
  remove(id: string): Promise<void> {
    return this.#lane.exclusively(async () => {
      const user = this.find(id);
      this.#checkOtherAdmin(id);
      await this.#store([{ remove: userKey(id) }, { clear: tokensOf(id) }, { clear: usesOf(id) }]);
      this.#drop(user);
    });
  }

  #store(changes: readonly Change[]): Promise<void> {
    return this.#options.store.commit(changes);
  }

  async #hash(password: string | null): Promise<string | null> {
    return password === null ? null : this.#options.passwords.hash(password);
  }

  #checkName(name: string, ownId: string | undefined): void {
    const other = this.named(name);
    if (other !== undefined && other.user_id !== ownId) throw refusals.userExists(name);
  }

  /** Refuses (409) a server that nobody could administer: nobody could open it again. */
  #checkOtherAdmin(id: string): void {
    const others = [...this.#users.values()].filter((user) => user.user_id !== id);
    const isLeft = others.some((user) => this.#canAdminister(user.role, user.password));
    if (!isLeft && !this.#options.hasBuiltInAdmin) throw refusals.lastAdmin();
  }

  #canAdminister(role: Role, password: string | null): boolean {
    return this.#options.hasBuiltInAdmin || (role === 'admin' && password !== null);
  }

  #put(user: User): void {
    this.#users.set(user.user_id, user);
    this.#named.set(user.name.toLowerCase(), user);
  }

  #drop(user: User): void {
    const name = user.name.toLowerCase();
    this.#users.delete(user.user_id);
    if (this.#named.get(name) === user) this.#named.delete(name);
  }
}
