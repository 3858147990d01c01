/**
 * A bounded number of places for holders of many clients. When all are taken, a new holder displaces the one whose last
 * progress is the oldest. A client with more than half of the places loses its own first, and displaces no other
 * client. So idle holders keep no one out.
 */

type Test<Holder> = (holder: Holder) => boolean;

interface PlacesOptions<Holder> {
  readonly count: number;
  /** Tests for holders that may give way; holders that pass the first test go first. */
  readonly mayGiveWay: readonly Test<Holder>[];
  /** Further tests, for holders of a client with more than half of the places, when another client comes. */
  readonly mayGiveWayToOthers?: readonly Test<Holder>[];
  /** Called when the holder has lost its place. */
  readonly gaveWay: (holder: Holder) => void;
}

export class Places<Holder> {
  readonly #options: PlacesOptions<Holder>;
  /** The holders with their clients; the one whose last progress is the oldest comes first. */
  readonly #holders = new Map<Holder, string>();

  constructor(options: PlacesOptions<Holder>) {
    this.#options = options;
  }

  /** False when there is no place, and no holder may give way. The client is an address, or empty when unknown. */
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

  /** Notes progress of the holder: the others give way before it does. */
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

  /**
   * The client with more than half of the places, if there is one. Holders without a known client count as strangers.
   */
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
