/** Counts the nodes or the links of an open project for its limit and for the quotas. */
import type { ContentLimit, ObjectLimit } from '../projects/content-limit.js';
import type { Claims } from './quotas.js';

type Counted = 'links' | 'nodes';

export class CountedObjects implements ObjectLimit {
  readonly #limit: ContentLimit;
  readonly #quotas: Claims;
  readonly #projectId: string;
  readonly #resource: Counted;
  #objects = 0;

  constructor(limit: ContentLimit, quotas: Claims, projectId: string, resource: Counted) {
    this.#limit = limit;
    this.#quotas = quotas;
    this.#projectId = projectId;
    this.#resource = resource;
  }

  add(objects: number, characters: number): void {
    this.#limit.add(objects, characters);
    try {
      this.#count('claim', objects);
    } catch (error) {
      this.#limit.takeBack(objects, characters);
      throw error;
    }
  }

  load(objects: number, characters: number): void {
    this.#limit.load(objects, characters);
    this.#count('take', objects);
  }

  takeBack(objects: number, characters: number): void {
    this.#limit.takeBack(objects, characters);
    this.#count('take', -objects);
  }

  /** Gives everything back: the project closes. */
  giveBack(): void {
    this.#count('take', -this.#objects);
  }

  #count(how: 'claim' | 'take', objects: number): void {
    if (objects === 0) return;
    this.#quotas[how](this.#projectId, { [this.#resource]: objects });
    this.#objects += objects;
  }
}
