/** The licence of IOU images, which clients set for the whole server. Its keys are secret. */
import type { Store } from '../base/store/store.js';
import { IOU_LICENSE } from './projects/records.js';
import { StoredSettings } from './stored-settings.js';

export interface LicenseSettings {
  /** The content of the licence file; empty when there is none. */
  readonly iourc_content: string;
  /** Whether nodes without a licence file are refused. */
  readonly license_check: boolean;
}

export class IouLicense extends StoredSettings<LicenseSettings> {
  constructor(store: Store) {
    super(store, IOU_LICENSE, { iourc_content: '', license_check: true });
  }
}
