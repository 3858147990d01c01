/** When the credentials of users were used last. It is written for all together, once in a while. */
import type { Key, Store } from '../../base/store/store.js';
import type { Users } from './users.js';

interface UsesOptions {
  readonly store: Store;
  readonly users: Users;
  /** The records lie here, by user and by credential. */
  readonly at: Key;
}

const WRITTEN_AFTER_MS = 5 * 60 * 1000;

export class Uses {
  readonly #options: UsesOptions;
  readonly #times = new Map<string, number>();
  /** The users of credentials whose last use is not written yet. */
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

  note(userId: string, id: string, time: number): void {
    this.#times.set(id, time);
    this.#unwritten.set(id, userId);
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
    const { store, users, at } = this.#options;
    const used = [...this.#unwritten].filter(([, userId]) => users.get(userId) !== undefined);
    this.#unwritten.clear();
    if (used.length === 0) return;
    const changes = used.map(([id, userId]) => ({ put: [...at, userId, id], value: this.last(id) }));
    await store.commit(changes).catch(() => undefined);
  }
}
