/** The store of a server without a farm, unless its records have gone to one. */
import type { Notice } from '../base/store/journal-opening.js';
import { StateThread } from '../base/store/state-thread.js';
import { IN_FARM } from '../farm/farm-store.js';

export class LocalStore extends StateThread {
  /** Otherwise the projects would be taken in from their files, and be there twice. */
  override async open(): Promise<readonly Notice[]> {
    const notices = await super.open();
    const [away] = await this.load(IN_FARM);
    if (away === undefined) return notices;
    throw new Error(
      `the records of this server are in the farm ${String(away.value)}: give --farm, or bring them back (wirefarm farm leave)`,
    );
  }
}
