/** The lab of an owner in a simulated farm. */
import type { Claim, Reading, Store, StoredRecord } from '../../src/base/store/store.js';
import { changeKeys, versionKey } from './farm-checker.js';

/** The ids of changes that a lab refuses begin with this. */
export const REFUSED = 'refused';

interface LabOptions {
  readonly store: Pick<Store, 'commit'>;
  /** Work before a change is stored. */
  readonly pause: () => Promise<void>;
  readonly isHasty: boolean;
}

/** An open lab of its owner: a number that counts its changes. */
export class OwnedLab {
  readonly claim: Claim;
  readonly #store: Pick<Store, 'commit'>;
  readonly #pause: () => Promise<void>;
  readonly #isHasty: boolean;
  #version: number;
  #published: number;
  #lane: Promise<unknown> = Promise.resolve();
  #isBroken = false;

  constructor(claim: Claim, { records }: Reading, { store, pause, isHasty }: LabOptions) {
    const isVersion = ({ key }: StoredRecord): boolean => key[0] === 'head' && key[2] === 'version';
    this.claim = claim;
    this.#store = store;
    this.#pause = pause;
    this.#isHasty = isHasty;
    this.#version = Number(records.find(isVersion)?.value ?? 0);
    this.#published = this.#version;
  }

  /** The last version that was stored. */
  get version(): number {
    return this.#published;
  }

  change(id: string): Promise<{ version: number } | 'refused'> {
    const done = this.#lane.then(() => this.#change(id));
    this.#lane = done.catch(() => undefined);
    return done;
  }

  async #change(id: string): Promise<{ version: number } | 'refused'> {
    if (id.startsWith(REFUSED)) return 'refused';
    if (this.#isBroken) throw new Error('the lab is given up');
    const version = this.#version + 1;
    const { scope } = this.claim;
    await this.#pause();
    const puts = [versionKey(scope), ...changeKeys(scope, id)].map((put) => ({ put, value: version }));
    const stored = this.#store.commit(puts);
    this.#version = version;
    try {
      if (this.#isHasty) stored.catch(() => undefined);
      else await stored;
    } catch (error) {
      this.#isBroken = true;
      throw error;
    }
    this.#published = version;
    return { version };
  }
}
