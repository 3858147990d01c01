/** The store of a server that shares the etcd of a farm with others. */
import type { Logger } from 'pino';
import { PRODUCT } from '../base/product.js';
import type { Companion } from '../base/store/commit-metrics.js';
import type { EtcdAddress } from '../base/store/etcd/etcd-address.js';
import { EtcdStore } from '../base/store/etcd/etcd-store.js';
import type { Notice } from '../base/store/journal-opening.js';
import { StateThread } from '../base/store/state-thread.js';
import type { Claim, SharedStore, Store } from '../base/store/store.js';
import type { FarmClock } from '../farm/farm-clock.js';
import { FarmMember } from '../farm/farm-member.js';
import { farmSecret } from '../farm/farm-secret.js';
import { ALONE, FarmStore } from '../farm/farm-store.js';
import { Forwarder } from '../http/forwarding/forwarder.js';
import { HopCredential } from '../http/forwarding/hop-credential.js';
import { copyRecords, KEPT_BY_ALL, KEPT_BY_HOSTS } from './record-copy.js';
import type { ServerStore } from './server-store.js';

interface MemberStoreOptions {
  readonly farm: EtcdAddress;
  /** The folder of what belongs to this host. */
  readonly state: string;
  /** The name of this server. */
  readonly id: string;
  readonly log: Logger;
}

export class MemberStore extends FarmStore implements ServerStore {
  readonly member: FarmMember;
  readonly #local: StateThread;
  readonly #shared: SharedStore;
  readonly #clock: FarmClock;
  #forwarder: Forwarder | undefined;

  constructor({ farm, state, id, log }: MemberStoreOptions) {
    const shared = new EtcdStore({ ...farm, server: id });
    const local = new StateThread(state);
    const clock = {
      now: () => performance.now(),
      after: (milliseconds: number, work: () => void) => {
        const timer = setTimeout(work, milliseconds).unref();
        return () => {
          clearTimeout(timer);
        };
      },
    };
    const boundTo = (claim: Claim): Store => this.boundTo(claim);
    const member = new FarmMember({ shared, id, version: PRODUCT.version, clock, log, boundTo });
    const { records, freshness } = member;
    super({ shared, local, records, freshness, claimOf: member.claimOf.bind(member) });
    this.#clock = clock;
    this.#local = local;
    this.#shared = shared;
    this.member = member;
  }

  async open(): Promise<readonly Notice[]> {
    const [owner] = await this.#shared.load(['owner', ALONE]);
    if (owner !== undefined)
      throw new Error('a server without --advertise runs on the farm, which it has to itself');
    const { member } = this;
    const credential = new HopCredential(await farmSecret(this.#shared, this.#clock));
    this.#forwarder = new Forwarder({ owners: member, credential, own: () => member.place });
    await member.look();
    return this.#local.open();
  }

  /** The audit of this server is its own. */
  accompany(companion: Companion): void {
    this.#local.accompany(companion);
  }

  copyTo(path: string): Promise<void> {
    return copyRecords(path, async () => [
      ...(await this.#shared.load(...KEPT_BY_ALL)),
      ...(await this.#local.load(...KEPT_BY_HOSTS)),
    ]);
  }

  /** The part of the store that all servers have. */
  get shared(): SharedStore {
    return this.#shared;
  }

  get forwarder(): Forwarder | undefined {
    return this.#forwarder;
  }

  get pool(): StateThread['pool'] {
    return this.#local.pool;
  }

  get writeMetrics(): StateThread['writeMetrics'] {
    return this.#local.writeMetrics;
  }

  override async close(): Promise<void> {
    await this.member.leave();
    await super.close();
  }
}
