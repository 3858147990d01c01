/** When things were used last, such as the credentials of users. It is written for all together, once in a while. */
import type { Key, Store } from '../../base/store/store.js';

interface UsesOptions {
  readonly store: Store;
  /** Whether the owner of a thing is there still. */
  readonly isOwner: (ownerId: string) => boolean;
  /** The records lie here, by owner and by thing. */
  readonly at: Key;
}

const WRITTEN_AFTER_MS = 5 * 60 * 1000;

export class Uses {
  readonly #options: UsesOptions;
  readonly #times = new Map<string, number>();
  /** The owners of the things whose last use is not written yet. */
  readonly #unwritten = new Map<string, string>();
  #timer: NodeJS.Timeout | undefined;

  constructor(options: UsesOptions) {
    this.#options = options;
  }

  async start(): Promise<void> {
    const { store, at } = this.#options;
    for (const { key, value } of await store.load(at)) {
      this.#times.set(key[at.length + 1] ?? '', value as number);
    }
  }

  last(id: string): number | undefined {
    return this.#times.get(id);
  }

  note(ownerId: string, id: string, time: number): void {
    this.#times.set(id, time);
    this.#unwritten.set(id, ownerId);
    this.#timer ??= setTimeout(() => void this.#write(), WRITTEN_AFTER_MS).unref();
  }

  forget(id: string): void {
    this.#times.delete(id);
    this.#unwritten.delete(id);
  }

  /** Writes what is to be written at the end of the server. */
  async close(): Promise<void> {
    await this.#write();
  }

  /** Best effort: a time that is not written costs nobody anything, and the next use writes it again. */
  async #write(): Promise<void> {
    clearTimeout(this.#timer);
    this.#timer = undefined;
    const { store, isOwner, at } = this.#options;
    const used = [...this.#unwritten].filter(([, ownerId]) => isOwner(ownerId));
    this.#unwritten.clear();
    if (used.length === 0) return;
    const changes = used.map(([id, ownerId]) => ({ put: [...at, ownerId, id], value: this.last(id) }));
    await store.commit(changes).catch(() => undefined);
  }
}
