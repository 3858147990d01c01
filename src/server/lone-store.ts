/** The store of a server that is alone on the etcd of a farm. */
import { setTimeout as sleep } from 'node:timers/promises';
import { CommitMetrics, type Companion } from '../base/store/commit-metrics.js';
import type { EtcdAddress } from '../base/store/etcd/etcd-address.js';
import { EtcdStore } from '../base/store/etcd/etcd-store.js';
import type { Notice } from '../base/store/journal-opening.js';
import { packChanges } from '../base/store/packing.js';
import type { Change, Claim, Packed } from '../base/store/store.js';
import { ALONE } from '../farm/farm-store.js';
import { copyRecords, KEPT_BY_ALL, KEPT_BY_HOSTS } from './record-copy.js';
import type { ServerStore } from './server-store.js';

/** A server that has died has it for some seconds more. */
const TRIES = 15;
const PAUSE_MS = 1000;

export class LoneStore extends EtcdStore implements ServerStore {
  readonly pool = undefined;
  readonly #metrics = new CommitMetrics('store_full', 'store_unreachable', 'store_forbidden');
  readonly #farm: string;
  #companion: Companion | undefined;
  #isClosed = false;

  constructor(address: EtcdAddress, server: string) {
    super({ ...address, server, chain: ALONE, onLost: fail });
    this.#farm = `${address.servers.join(', ')} ${address.prefix}`;
  }

  /** Takes the chain only when nobody else has the claim. */
  async open(): Promise<readonly Notice[]> {
    for (let attempt = 1; ; attempt++) {
      const outcome = await this.claim(ALONE);
      if ('claim' in outcome) {
        await this.chain();
        const members = await this.load(['server']);
        if (members.length > 0)
          throw new Error('servers with --advertise share the farm: this one needs it, too');
        this.#watch(outcome.claim);
        return [];
      }
      if (attempt === TRIES) {
        throw new Error(
          `another server (${outcome.heldBy}) runs on the farm ${this.#farm}, and several cannot share one yet`,
        );
      }
      await sleep(PAUSE_MS);
    }
  }

  accompany(companion: Companion): void {
    this.#companion = companion;
  }

  override async commit(changes: readonly Change[], requests = 1): Promise<void> {
    this.#metrics.shared(requests);
    await super.commit(changes);
  }

  override async commitPacked(...parts: readonly Packed[]): Promise<void> {
    await this.#metrics.timed(this.#companion, (along) =>
      super.commitPacked(...parts, ...(along.length === 0 ? [] : [packChanges(along)])),
    );
  }

  copyTo(path: string): Promise<void> {
    return copyRecords(path, () => this.load(...KEPT_BY_ALL, ...KEPT_BY_HOSTS));
  }

  get writeMetrics(): CommitMetrics['write'] {
    return this.#metrics.write;
  }

  override async close(): Promise<void> {
    this.#isClosed = true;
    await super.close();
  }

  /** The claim ends when etcd was out of reach for long. While nobody else has taken it, this server goes on. */
  #watch({ lost }: Claim): void {
    lost.addEventListener('abort', () => void this.#claimAgain());
  }

  async #claimAgain(): Promise<void> {
    while (!this.#isClosed) {
      try {
        const outcome = await this.claim(ALONE);
        if ('claim' in outcome) this.#watch(outcome.claim);
        else fail();
        return;
      } catch {
        await sleep(PAUSE_MS, undefined, { ref: false });
      }
    }
  }
}

/** Ends the server: its memory does not show what is stored any more. */
function fail(): void {
  queueMicrotask(() => {
    throw new Error('another server has taken over the records of the farm');
  });
}
