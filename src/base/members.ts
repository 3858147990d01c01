/**
 * The members of something that many join and leave in a second, such as the requests that are being answered. A Set does not
 * do: when it makes itself a new table, the former one refers to the new one and to what it had. Once one of these tables is old
 * for the collector of garbage, all that follow it live until the next full collection, with the requests in them.
 */
export interface Member {
  /** Where it is among the members; below zero when it is none. Only `Members` sets it. */
  place: number;
}

export class Members<Item extends Member> {
  readonly #items: Item[] = [];

  get size(): number {
    return this.#items.length;
  }

  add(item: Item): void {
    if (item.place >= 0) return;
    item.place = this.#items.length;
    this.#items.push(item);
  }

  remove(item: Item): void {
    const { place } = item;
    if (place < 0) return;
    item.place = -1;
    const last = this.#items.pop();
    if (last === undefined || last === item) return;
    this.#items[place] = last;
    last.place = place;
  }

  /** All members of now, in any order. */
  all(): Item[] {
    return [...this.#items];
  }
}
