/** How much one topology may hold, so that it can be opened, listed and written without keeping others waiting. */
import { refusals } from '../../base/errors/errors.js';

/** Nodes, links and drawings together. */
export const MOST_OBJECTS = 20_000;
/** Of the texts of all of them, pictures of drawings included. */
export const MOST_CHARACTERS = 32 * 1024 * 1024;

export class ContentLimit {
  #objects = 0;
  #characters = 0;

  /** Refuses (409) what is too much; then nothing is counted. Whatever makes less of it is welcome. */
  add(objects: number, characters: number): void {
    checkObjects(objects > 0 ? this.#objects + objects : 0);
    if (characters > 0 && this.#characters + characters > MOST_CHARACTERS)
      throw refusals.topologyTooLong(MOST_CHARACTERS);
    this.#objects += objects;
    this.#characters += characters;
  }

  /** Never refuses. */
  takeBack(objects: number, characters: number): void {
    this.#objects -= objects;
    this.#characters -= characters;
  }
}

export function checkObjects(count: number): void {
  if (count > MOST_OBJECTS) throw refusals.topologyFull(MOST_OBJECTS);
}
