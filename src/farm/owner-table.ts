/**
 * The servers that have scopes, or should get those that nobody has, with how many projects each has. Servers that know of the
 * same changes come to the same table without talking.
 */
import { ranking } from './ranking.js';

/** A server gets so much more than its even part at most, while another has less. */
const LARGEST_SHARE = 1.25;

export class OwnerTable {
  readonly #owners = new Map<string, string>();
  /** The servers that should claim scopes that nobody has. */
  readonly #expected = new Map<string, string>();
  /** The projects that each server has or should get. */
  readonly #projects = new Map<string, number>();
  #total = 0;

  get(scope: string): string | undefined {
    return this.#owners.get(scope);
  }

  get scopes(): string[] {
    return [...this.#owners.keys()];
  }

  set(scope: string, server: string): void {
    this.#forget(scope);
    this.#owners.set(scope, server);
    this.#count(scope, server, 1);
  }

  delete(scope: string): void {
    this.#forget(scope);
  }

  clear(): void {
    for (const part of [this.#owners, this.#expected, this.#projects]) part.clear();
    this.#total = 0;
  }

  /**
   * The servers in the order in which they should have the scope: its home, then those that have no more than their part, by
   * their rank, then the others.
   */
  ranked(scope: string, servers: ReadonlySet<string>, home: string | undefined): string[] {
    const placed = this.#placed(scope);
    const others = this.#total - (placed === undefined ? 0 : 1);
    const most = Math.ceil((LARGEST_SHARE * (others + 1)) / servers.size);
    const groupOf = (server: string): 0 | 1 | 2 => {
      if (server === home) return 0;
      const has = (this.#projects.get(server) ?? 0) - (placed === server ? 1 : 0);
      return has < most ? 1 : 2;
    };
    const grouped = ranking(scope, servers).map((server) => ({ server, group: groupOf(server) }));
    return grouped.sort((a, b) => a.group - b.group).map(({ server }) => server);
  }

  /** A scope that nobody has is about to be claimed by the server. */
  expect(scope: string, server: string): void {
    this.#forget(scope);
    this.#expected.set(scope, server);
    this.#count(scope, server, 1);
  }

  #forget(scope: string): void {
    const placed = this.#placed(scope);
    this.#owners.delete(scope);
    this.#expected.delete(scope);
    if (placed !== undefined) this.#count(scope, placed, -1);
  }

  /** Only projects count. */
  #placed(scope: string): string | undefined {
    return scope.startsWith('@') ? undefined : (this.#owners.get(scope) ?? this.#expected.get(scope));
  }

  #count(scope: string, server: string, sign: 1 | -1): void {
    if (scope.startsWith('@')) return;
    this.#total += sign;
    const count = (this.#projects.get(server) ?? 0) + sign;
    if (count > 0) this.#projects.set(server, count);
    else this.#projects.delete(server);
  }
}
