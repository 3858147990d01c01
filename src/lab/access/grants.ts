/** The grants on projects: for each user, how far that one may use which project. A change is durable before anybody can see it. */
import type { Store } from '../../base/store/store.js';
import type { Grant } from '../../base/rights.js';
import { refusals } from '../../base/errors/errors.js';
import { Lane } from '../projects/lane.js';
import { grantKey, GRANTS_OF_PROJECTS, grantsOf } from './access-records.js';

/** Called when a project has other owners than before. */
type OwnersChanged = (projectId: string, before: readonly string[], after: readonly string[]) => void;

export class Grants {
  readonly #store: Store;
  readonly #lane: Lane;
  /** By project, and then by user. */
  readonly #grants = new Map<string, Map<string, Grant>>();
  /** The users who own each project. */
  readonly #owners = new Map<string, readonly string[]>();
  #ownersChanged: OwnersChanged = () => undefined;

  constructor(store: Store) {
    this.#store = store;
    this.#lane = new Lane(store);
  }

  async start(): Promise<void> {
    for (const { key, value } of await this.#store.load(GRANTS_OF_PROJECTS)) {
      this.#put(key[1] ?? '', key[2] ?? '', value as Grant);
    }
  }

  of(projectId: string, userId: string): Grant | undefined {
    return this.#grants.get(projectId)?.get(userId);
  }

  ownersOf(projectId: string): readonly string[] {
    return this.#owners.get(projectId) ?? [];
  }

  /** There is one listener. */
  followOwners(listener: OwnersChanged): void {
    this.#ownersChanged = listener;
  }

  /** The users who have a grant on the project. */
  list(projectId: string): [userId: string, grant: Grant][] {
    return [...(this.#grants.get(projectId) ?? [])];
  }

  /** Makes a new project its maker's, and nobody else's: grants on an earlier one with this id are void. */
  claim(projectId: string, userId: string | undefined): Promise<void> {
    return this.#lane.exclusively(async () => {
      const owned = userId === undefined ? [] : [{ put: grantKey(projectId, userId), value: 'owner' }];
      if (userId === undefined && !this.#grants.has(projectId)) return;
      await this.#store.commit([{ clear: grantsOf(projectId) }, ...owned]);
      this.#grants.delete(projectId);
      if (userId !== undefined) this.#put(projectId, userId, 'owner');
      else this.#findOwners(projectId);
    });
  }

  set(projectId: string, userId: string, grant: Grant): Promise<void> {
    return this.#lane.exclusively(async () => {
      await this.#store.commit([{ put: grantKey(projectId, userId), value: grant }]);
      this.#put(projectId, userId, grant);
    });
  }

  remove(projectId: string, userId: string): Promise<void> {
    return this.#lane.exclusively(async () => {
      if (this.of(projectId, userId) === undefined) throw refusals.grantUnknown();
      await this.#store.commit([{ remove: grantKey(projectId, userId) }]);
      this.#grants.get(projectId)?.delete(userId);
      this.#findOwners(projectId);
    });
  }

  /** Removes the grants on a project that is gone. */
  forget(projectId: string): Promise<void> {
    return this.claim(projectId, undefined);
  }

  #put(projectId: string, userId: string, grant: Grant): void {
    const ofProject = this.#grants.get(projectId) ?? new Map<string, Grant>();
    this.#grants.set(projectId, ofProject.set(userId, grant));
    this.#findOwners(projectId);
  }

  #findOwners(projectId: string): void {
    const before = this.ownersOf(projectId);
    const after = this.list(projectId).flatMap(([id, grant]) => (grant === 'owner' ? [id] : []));
    if (after.length > 0) this.#owners.set(projectId, after);
    else this.#owners.delete(projectId);
    this.#ownersChanged(projectId, before, after);
  }
}
