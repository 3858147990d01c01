/**
 * The names of projects are unique among those of one owner, and among those that nobody owns: on a server without users
 * no two projects have the same name.
 */
import { refusals } from '../../base/errors/errors.js';
import type { ProjectClaim } from './project-lifetime.js';
import { checkFileName, freeName } from './project-names.js';

interface OwnedNamesOptions {
  readonly projects: { values: () => Iterable<{ readonly id: string; readonly name: string }> };
  /** The users who own a project. */
  readonly ownersOf: (projectId: string) => readonly string[];
}

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

  /** Refuses a new name of a project that one of its owners has given already, or that cannot be a file's name. */
  check(name: string, projectId: string): void {
    this.#check({ name, owners: this.#options.ownersOf(projectId) }, projectId);
  }

  /** Refuses (409) one more owner of a project who has another project of its name. The name is held during `work`. */
  async whileShared(
    projectId: string,
    name: string,
    userId: string,
    work: () => Promise<void>,
  ): Promise<void> {
    const owned = { name, owners: [userId] };
    this.#check(owned, projectId);
    await this.#whileHeld(owned, work);
  }

  /** Refuses a name like `check`. The name is held during `work`. */
  async whileMade<Result>(name: string, claim: ProjectClaim, work: () => Promise<Result>): Promise<Result> {
    const owned = { name, owners: ownersBy(claim) };
    this.#check(owned, undefined);
    return this.#whileHeld(owned, work);
  }

  /** The wanted name, with a number when the owner has given it already. */
  free(wanted: string, claim: ProjectClaim): string {
    const owners = ownersBy(claim);
    return freeName(wanted, (name) => this.#isTaken({ name, owners }, undefined));
  }

  async #whileHeld<Result>(owned: OwnedName, work: () => Promise<Result>): Promise<Result> {
    this.#held.add(owned);
    try {
      return await work();
    } finally {
      this.#held.delete(owned);
    }
  }

  #check(owned: OwnedName, ownId: string | undefined): void {
    checkFileName(owned.name);
    if (this.#isTaken(owned, ownId)) throw refusals.projectExists(owned.name);
  }

  #isTaken({ name, owners }: OwnedName, ownId: string | undefined): boolean {
    const isOfOwner = (others: readonly string[]): boolean =>
      owners.length === 0 ? others.length === 0 : owners.some((id) => others.includes(id));
    const { projects, ownersOf } = this.#options;
    return (
      [...this.#held].some((held) => held.name === name && isOfOwner(held.owners)) ||
      [...projects.values()].some(
        (other) => other.id !== ownId && other.name === name && isOfOwner(ownersOf(other.id)),
      )
    );
  }
}

function ownersBy({ userId }: ProjectClaim): readonly string[] {
  return userId === undefined ? [] : [userId];
}
