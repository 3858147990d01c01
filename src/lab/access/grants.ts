/**
 * The grants on projects: how far each user, and each group of users, may use which project. A change is durable before
 * anybody can see it.
 */
import { keepRecords } from '../../base/store/kept-records.js';
import type { Store } from '../../base/store/store.js';
import { furtherGrant, type Grant } from '../../base/rights.js';
import { refusals } from '../../base/errors/errors.js';
import { Lane } from '../projects/lane.js';
import {
  grantKey,
  GRANTS_OF_GROUPS,
  GRANTS_OF_PROJECTS,
  grantsOf,
  groupGrantKey,
  groupGrantsOf,
} from './access-records.js';
import type { Groups } from './groups.js';

/** Called when a project has other owners than before. */
type OwnersChanged = (projectId: string, before: readonly string[], after: readonly string[]) => void;

/** A grant that follows from others, and that no record has. */
type DerivedGrant = (projectId: string, userId: string) => Grant | undefined;

export class Grants {
  readonly #store: Store;
  readonly #groups: Pick<Groups, 'has'>;
  readonly #lane: Lane;
  /** By project, and then by user. */
  readonly #grants = new Map<string, Map<string, Grant>>();
  /** By project, and then by group. */
  readonly #ofGroups = new Map<string, Map<string, Grant>>();
  /** The users who own each project. */
  readonly #owners = new Map<string, readonly string[]>();
  #ownersChanged: OwnersChanged = () => undefined;
  #derived: DerivedGrant = () => undefined;

  constructor(store: Store, groups: Pick<Groups, 'has'>) {
    this.#store = store;
    this.#groups = groups;
    this.#lane = new Lane(store);
  }

  async start(): Promise<void> {
    await keepRecords(this.#store, {
      at: GRANTS_OF_PROJECTS,
      takeOver: ([, projectId = '', userId = ''], value) => {
        if (value === undefined) this.#drop(projectId, userId);
        else this.#put(projectId, userId, value as Grant);
      },
    });
    await keepRecords(this.#store, {
      at: GRANTS_OF_GROUPS,
      takeOver: ([, projectId = '', groupId = ''], value) => {
        if (value === undefined) this.#ofGroups.get(projectId)?.delete(groupId);
        else this.#putOfGroup(projectId, groupId, value as Grant);
      },
    });
  }

  /** How far a user may use a project, by a grant of his own or of one of his groups. */
  of(projectId: string, userId: string): Grant | undefined {
    let reached = furtherGrant(this.stored(projectId, userId), this.#derived(projectId, userId));
    for (const [groupId, grant] of this.#ofGroups.get(projectId) ?? [])
      if (this.#groups.has(groupId, userId)) reached = furtherGrant(reached, grant);
    return reached;
  }

  /** The grant of the user himself, without those of groups and those that follow from others. */
  stored(projectId: string, userId: string): Grant | undefined {
    return this.#grants.get(projectId)?.get(userId);
  }

  /** There is one deriver. It must not ask for the grants on a project about which it is asked. */
  deriveFrom(derived: DerivedGrant): void {
    this.#derived = derived;
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

  /** The groups that have a grant on the project. */
  listGroups(projectId: string): [groupId: string, grant: Grant][] {
    return [...(this.#ofGroups.get(projectId) ?? [])];
  }

  /** Makes a new project its maker's, and nobody else's: grants on an earlier one with this id are void. */
  claim(projectId: string, userId: string | undefined): Promise<void> {
    return this.#lane.exclusively(async () => {
      const owned = userId === undefined ? [] : [{ put: grantKey(projectId, userId), value: 'owner' }];
      const hasGrants = this.#grants.has(projectId) || this.#ofGroups.has(projectId);
      if (userId === undefined && !hasGrants) return;
      const cleared = [{ clear: grantsOf(projectId) }, { clear: groupGrantsOf(projectId) }];
      await this.#store.commit([...cleared, ...owned]);
      this.#grants.delete(projectId);
      this.#ofGroups.delete(projectId);
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
      if (this.#grants.get(projectId)?.has(userId) !== true) throw refusals.grantUnknown();
      await this.#store.commit([{ remove: grantKey(projectId, userId) }]);
      this.#drop(projectId, userId);
    });
  }

  setForGroup(projectId: string, groupId: string, grant: Grant): Promise<void> {
    return this.#lane.exclusively(async () => {
      await this.#store.commit([{ put: groupGrantKey(projectId, groupId), value: grant }]);
      this.#putOfGroup(projectId, groupId, grant);
    });
  }

  removeOfGroup(projectId: string, groupId: string): Promise<void> {
    return this.#lane.exclusively(async () => {
      if (this.#ofGroups.get(projectId)?.has(groupId) !== true) throw refusals.groupGrantUnknown();
      await this.#store.commit([{ remove: groupGrantKey(projectId, groupId) }]);
      this.#ofGroups.get(projectId)?.delete(groupId);
    });
  }

  /** Forgets the grants on a project that is removed, which the store does with the project. */
  forget(projectId: string): void {
    this.#grants.delete(projectId);
    this.#ofGroups.delete(projectId);
    this.#findOwners(projectId);
  }

  #put(projectId: string, userId: string, grant: Grant): void {
    const ofProject = this.#grants.get(projectId) ?? new Map<string, Grant>();
    this.#grants.set(projectId, ofProject.set(userId, grant));
    this.#findOwners(projectId);
  }

  #drop(projectId: string, userId: string): void {
    this.#grants.get(projectId)?.delete(userId);
    this.#findOwners(projectId);
  }

  #putOfGroup(projectId: string, groupId: string, grant: Grant): void {
    const ofProject = this.#ofGroups.get(projectId) ?? new Map<string, Grant>();
    this.#ofGroups.set(projectId, ofProject.set(groupId, grant));
  }

  #findOwners(projectId: string): void {
    const before = this.ownersOf(projectId);
    const after = this.list(projectId).flatMap(([id, grant]) => (grant === 'owner' ? [id] : []));
    if (after.length > 0) this.#owners.set(projectId, after);
    else this.#owners.delete(projectId);
    this.#ownersChanged(projectId, before, after);
  }
}
