/** Settings of the whole server that clients read and change, such as the licence of IOU images. */
import { keepRecords } from '../base/store/kept-records.js';
import type { Key, Store } from '../base/store/store.js';
import { Lane } from './projects/lane.js';

export class StoredSettings<Settings extends object> {
  readonly #store: Store;
  readonly #key: Key;
  readonly #lane: Lane;
  readonly #defaults: Settings;
  #settings: Settings;
  /** The settings with the changes of a commit that is under way. */
  #working: Settings;

  /** `defaults` hold until a client changes them. */
  constructor(store: Store, key: Key, defaults: Settings) {
    this.#store = store;
    this.#key = key;
    this.#lane = new Lane(store);
    this.#defaults = defaults;
    this.#settings = defaults;
    this.#working = defaults;
  }

  async start(): Promise<void> {
    await keepRecords(this.#store, {
      at: this.#key,
      takeOver: (_key, value) => {
        this.#settings = { ...this.#defaults, ...(value as Settings | undefined) };
        this.#working = this.#settings;
      },
    });
  }

  get settings(): Settings {
    return this.#settings;
  }

  /** Changes the settings that are given. */
  update(given: { readonly [Name in keyof Settings]?: Settings[Name] | undefined }): Promise<Settings> {
    return this.#lane.change((transaction) => {
      const before = this.#working;
      const changes = Object.entries(given).filter(([, value]) => value !== undefined);
      const next = { ...before, ...(Object.fromEntries(changes) as Partial<Settings>) };
      this.#working = next;
      transaction.onUndo(() => {
        this.#working = before;
      });
      transaction.store({ put: this.#key, value: next });
      transaction.onStored(() => {
        this.#settings = next;
      });
      return next;
    });
  }
}
