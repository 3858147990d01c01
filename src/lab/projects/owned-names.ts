/**
 * The names of projects are unique among those of one owner, and among those that nobody owns: on a server without users
 * no two projects have the same name.
 */
import { isRefusal, refusals } from '../../base/errors/errors.js';
import type { ProjectsElsewhere } from './elsewhere.js';
import type { ProjectClaim } from './project-lifetime.js';
import { checkFileName, freeName } from './project-names.js';

interface OwnedNamesOptions {
  readonly projects: { values: () => Iterable<{ readonly id: string; readonly name: string }> };
  /** The users who own a project. */
  readonly ownersOf: (projectId: string) => readonly string[];
  /** Set where several servers share one store. */
  readonly elsewhere?: Pick<ProjectsElsewhere, 'holdName'> | undefined;
}

const MOST_TRIED = 20;

interface OwnedName {
  readonly name: string;
  readonly owners: readonly string[];
}

export class OwnedNames {
  readonly #options: OwnedNamesOptions;
  /** The names of projects that are being made or shared. */
  readonly #held = new Set<OwnedName>();

  constructor(options: OwnedNamesOptions) {
    this.#options = options;
  }

  /** Refuses (409) a name that the maker of a new project has given already, or (400) that cannot be a file's name. */
  checkNew(name: string, claim: ProjectClaim): void {
    this.#check({ name, owners: ownersBy(claim) }, undefined);
  }

  /** Refuses a new name of a project that one of its owners has given already. The name is held during `work`. */
  whileNamed<Result>(projectId: string, name: string, work: () => Promise<Result>): Promise<Result> {
    return this.#whileHeld({ name, owners: this.#options.ownersOf(projectId) }, projectId, work);
  }

  /** Refuses (409) one more owner of a project who has another project of its name. The name is held during `work`. */
  whileShared(projectId: string, name: string, userId: string, work: () => Promise<void>): Promise<void> {
    return this.#whileHeld({ name, owners: [userId] }, projectId, work);
  }

  /** Refuses a name like `checkNew`. The name is held during `work`. */
  whileMade<Result>(name: string, claim: ProjectClaim, work: () => Promise<Result>): Promise<Result> {
    return this.#whileHeld({ name, owners: ownersBy(claim) }, undefined, work);
  }

  /** Holds the wanted name during `work`, with a number when the owner has given it already. */
  async whileFree<Result>(
    wanted: string,
    claim: ProjectClaim,
    work: (name: string) => Promise<Result>,
  ): Promise<Result> {
    const owners = ownersBy(claim);
    const taken = new Set<string>();
    for (;;) {
      const name = freeName(
        wanted,
        (one) => taken.has(one) || this.#isTaken({ name: one, owners }, undefined),
      );
      try {
        return await this.#whileHeld({ name, owners }, undefined, () => work(name));
      } catch (error) {
        // Another server was faster.
        if (taken.size === MOST_TRIED || !isRefusal(error, 'project_exists')) throw error;
        taken.add(name);
      }
    }
  }

  async #whileHeld<Result>(
    owned: OwnedName,
    ownId: string | undefined,
    work: () => Promise<Result>,
  ): Promise<Result> {
    const { elsewhere } = this.#options;
    const check = (): void => {
      this.#check(owned, ownId);
    };
    const releases: (() => void)[] = [];
    check();
    this.#held.add(owned);
    try {
      const owners = owned.owners.length === 0 ? [undefined] : owned.owners;
      if (elsewhere !== undefined)
        for (const owner of owners) releases.push(await elsewhere.holdName(owner, owned.name, check));
      return await work();
    } finally {
      this.#held.delete(owned);
      for (const release of releases) release();
    }
  }

  #check(owned: OwnedName, ownId: string | undefined): void {
    checkFileName(owned.name);
    if (this.#isTaken(owned, ownId)) throw refusals.projectExists(owned.name);
  }

  #isTaken(owned: OwnedName, ownId: string | undefined): boolean {
    const { name, owners } = owned;
    const isOfOwner = (others: readonly string[]): boolean =>
      owners.length === 0 ? others.length === 0 : owners.some((id) => others.includes(id));
    const { projects, ownersOf } = this.#options;
    return (
      [...this.#held].some((held) => held !== owned && held.name === name && isOfOwner(held.owners)) ||
      [...projects.values()].some(
        (other) => other.id !== ownId && other.name === name && isOfOwner(ownersOf(other.id)),
      )
    );
  }
}

function ownersBy({ userId }: ProjectClaim): readonly string[] {
  return userId === undefined ? [] : [userId];
}
