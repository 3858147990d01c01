/** Limits the size of one topology, so that opening, listing and writing it does not keep others waiting. */
import { refusals } from '../../base/errors/errors.js';

/** The most nodes, links and drawings together. */
export const MOST_OBJECTS = 20_000;
/** The most characters of their texts together, pictures of drawings included. */
export const MOST_CHARACTERS = 32 * 1024 * 1024;

/** A limit of objects of one sort, and of the characters of their texts. */
export interface ObjectLimit {
  /** Counts, or refuses and counts nothing. Changes that make the topology smaller are never refused. */
  add(objects: number, characters: number): void;
  /** Counts objects that are stored already. */
  load(objects: number, characters: number): void;
  /** Never refuses. */
  takeBack(objects: number, characters: number): void;
}

export class ContentLimit implements ObjectLimit {
  #objects = 0;
  #characters = 0;

  add(objects: number, characters: number): void {
    checkObjects(objects > 0 ? this.#objects + objects : 0);
    if (characters > 0 && this.#characters + characters > MOST_CHARACTERS)
      throw refusals.topologyTooLong(MOST_CHARACTERS);
    this.#objects += objects;
    this.#characters += characters;
  }

  load(objects: number, characters: number): void {
    this.add(objects, characters);
  }

  takeBack(objects: number, characters: number): void {
    this.#objects -= objects;
    this.#characters -= characters;
  }
}

export function checkObjects(count: number): void {
  if (count > MOST_OBJECTS) throw refusals.topologyFull(MOST_OBJECTS);
}
