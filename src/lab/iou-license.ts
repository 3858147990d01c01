/** The licence of IOU images, which clients set for the whole server. Its keys are secret. */
import type { Store } from '../base/store/store.js';
import { Lane } from './projects/lane.js';
import { IOU_LICENSE } from './projects/records.js';

export interface LicenseSettings {
  /** The content of the licence file; empty when there is none. */
  readonly iourc_content: string;
  /** Whether nodes without a licence file are refused. */
  readonly license_check: boolean;
}

export class IouLicense {
  readonly #store: Store;
  readonly #lane: Lane;
  #settings: LicenseSettings = { iourc_content: '', license_check: true };

  constructor(store: Store) {
    this.#store = store;
    this.#lane = new Lane(store);
  }

  async start(): Promise<void> {
    const [record] = await this.#store.load(IOU_LICENSE);
    if (record !== undefined) this.#settings = { ...this.#settings, ...(record.value as LicenseSettings) };
  }

  get settings(): LicenseSettings {
    return this.#settings;
  }

  /** Changes the settings that are given. */
  update(given: {
    readonly [Key in keyof LicenseSettings]?: LicenseSettings[Key] | undefined;
  }): Promise<LicenseSettings> {
    return this.#lane.change((transaction) => {
      const before = this.#settings;
      const { iourc_content = before.iourc_content, license_check = before.license_check } = given;
      const next = { iourc_content, license_check };
      transaction.store({ put: IOU_LICENSE, value: next });
      transaction.onStored(() => {
        this.#settings = next;
      });
      return next;
    });
  }
}
