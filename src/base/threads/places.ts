/**
 * A bounded number of places. When all are taken, one of those who have them gives way to whoever comes: the one that has
 * got on least lately. A client that has more than half of them gives way before all others do, and puts nobody else out.
 * So nobody is kept out by others who do nothing with their places.
 */

type Test<Holder> = (holder: Holder) => boolean;

export interface PlacesOptions<Holder> {
  readonly count: number;
  /** Who may give way, those first for whom the first test holds. */
  readonly mayGiveWay: readonly Test<Holder>[];
  /** Who else may, of a client that has more than half of the places, when another client comes. */
  readonly mayGiveWayToOthers?: readonly Test<Holder>[];
  /** The holder has no place any more. */
  readonly gaveWay: (holder: Holder) => void;
}

export class Places<Holder> {
  readonly #options: PlacesOptions<Holder>;
  /** With their clients, in the order in which they have got on. */
  readonly #holders = new Map<Holder, string>();

  constructor(options: PlacesOptions<Holder>) {
    this.#options = options;
  }

  /** False when there is no place, and nobody may give way. The client is an address, or empty when it is not known. */
  take(holder: Holder, client: string): boolean {
    if (this.#holders.size >= this.#options.count) {
      const found = this.#whoGivesWayTo(client);
      if (found === undefined) return false;
      this.#holders.delete(found);
      this.#options.gaveWay(found);
    }
    this.#holders.set(holder, client);
    return true;
  }

  /** The holder has got on: the others give way before it does. */
  gotOn(holder: Holder): void {
    const client = this.#holders.get(holder);
    if (client === undefined) return;
    this.#holders.delete(holder);
    this.#holders.set(holder, client);
  }

  leave(holder: Holder): void {
    this.#holders.delete(holder);
  }

  #whoGivesWayTo(client: string): Holder | undefined {
    const { mayGiveWay, mayGiveWayToOthers = [] } = this.#options;
    const greedy = this.#greedyClient();
    if (greedy === undefined) return this.#first(mayGiveWay, () => true);
    const isGreedy = (other: string): boolean => other === greedy;
    if (client === greedy) return this.#first(mayGiveWay, isGreedy);
    return (
      this.#first([...mayGiveWay, ...mayGiveWayToOthers], isGreedy) ?? this.#first(mayGiveWay, () => true)
    );
  }

  #first(tests: readonly Test<Holder>[], isMeant: (client: string) => boolean): Holder | undefined {
    for (const mayGiveWay of tests) {
      for (const [holder, client] of this.#holders) if (isMeant(client) && mayGiveWay(holder)) return holder;
    }
    return undefined;
  }

  /** The one that has more than half of the places, if there is one. Of those of nobody known, each may be another's. */
  #greedyClient(): string | undefined {
    const counts = new Map<string, number>();
    for (const client of this.#holders.values()) {
      if (client === '') continue;
      const count = (counts.get(client) ?? 0) + 1;
      if (count > this.#options.count / 2) return client;
      counts.set(client, count);
    }
    return undefined;
  }
}
