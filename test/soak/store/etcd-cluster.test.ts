/** Three servers of etcd that are killed, paused and cut off from power: no commit that was acknowledged is missing. */
import { join } from 'node:path';
import t from 'tap';
import { isRefusal } from '../../../src/base/errors/errors.js';
import type { Claim } from '../../../src/base/store/store.js';
import { EtcdFolderStore, ETCD } from '../../support/etcd-folder-store.js';
import { ask, EtcdCluster, missingEtcd } from '../../support/etcd.js';
import { eventually } from '../../support/eventually.js';
import { NO_POWER_DISK, PowerDisk } from '../../support/power-disk.js';
import { scratchFolder } from '../../support/scratch.js';
import { storeContract } from '../../base/store/store.contract.js';

const SERVERS = [0, 1, 2];
/** Commits that must be acknowledged between two faults. */
const BETWEEN = 20;

/** Commits one number after the other. */
class Writer {
  readonly acknowledged = new Set<string>();
  /** Refused in a way that tells that they have not happened. */
  readonly refused = new Set<string>();
  #isStopped = false;
  #next = 0;

  async run(store: EtcdFolderStore): Promise<void> {
    let claim: Claim | undefined;
    while (!this.#isStopped) {
      const number = String(this.#next++).padStart(6, '0');
      try {
        claim ??= await this.#claimed(store);
        await claim.store.commit([{ put: ['n', number], value: 1 }]);
        this.acknowledged.add(number);
      } catch (error) {
        if (isRefusal(error, 'claim_lost')) claim = undefined;
        else if (!isRefusal(error, 'store_unreachable')) throw error;
        else if (claim !== undefined) this.refused.add(number);
      }
    }
    await claim?.release();
  }

  stop(): void {
    this.#isStopped = true;
  }

  async goesOn(): Promise<void> {
    const goal = this.acknowledged.size + BETWEEN;
    await eventually('commits are acknowledged again', () => this.acknowledged.size >= goal || undefined);
  }

  async #claimed(store: EtcdFolderStore): Promise<Claim> {
    const outcome = await store.claim('s');
    if ('heldBy' in outcome) throw new Error(`${outcome.heldBy} has the scope`);
    return outcome.claim;
  }
}

const skip = missingEtcd();
if (skip === false) {
  const disks = SERVERS.map(() => PowerDisk.make(t));
  const folders = disks.map((disk, index) => disk?.folder ?? join(scratchFolder(t), String(index)));
  const etcd = await EtcdCluster.start(t, folders);
  process.env[ETCD] = etcd.address('').replace(/\/$/, '');

  void t.test('acknowledged commits survive faults of a minority and of all', async (t) => {
    const folder = scratchFolder(t);
    const store = new EtcdFolderStore(folder);
    const writer = new Writer();
    const written = writer.run(store);
    await writer.goesOn();
    for (const signal of ['SIGKILL', 'SIGSTOP'] as const) {
      const leader = await etcd.leader();
      if (signal === 'SIGKILL') await etcd.kill(leader);
      else etcd.signal(leader, signal);
      await writer.goesOn();
      if (signal === 'SIGKILL') etcd.begin(leader);
      else etcd.signal(leader, 'SIGCONT');
      await writer.goesOn();
    }
    await etcd.stop();
    for (const index of SERVERS) etcd.begin(index);
    await writer.goesOn();
    if (disks.includes(undefined)) t.comment(`no power cut: ${NO_POWER_DISK}`);
    else {
      for (const index of SERVERS) etcd.signal(index, 'SIGSTOP');
      for (const disk of disks) await disk?.cut();
      await etcd.stop();
      for (const disk of disks) await disk?.restorePower();
      for (const index of SERVERS) etcd.begin(index);
      await writer.goesOn();
    }
    writer.stop();
    await written;
    const other = new EtcdFolderStore(folder, 'other');
    const there = new Set((await other.load(['n'])).map(({ key }) => key[1] ?? ''));
    t.same(
      [...writer.acknowledged].filter((number) => !there.has(number)),
      [],
    );
    t.same(
      [...writer.refused].filter((number) => there.has(number)),
      [],
    );
    t.comment(`${writer.acknowledged.size} acknowledged, ${writer.refused.size} refused`);
    await Promise.all([store.close(), other.close()]);
  });

  storeContract(t, {
    open: (folder) => new EtcdFolderStore(folder),
    module: new URL('../../support/etcd-folder-store.js', import.meta.url),
    className: 'EtcdFolderStore',
    impossible: { put: ['x', 'k'.repeat(10_000)], value: 1 },
    outdated: async (store) => {
      const reading = await store.read();
      await store.commit([{ put: ['f', 'much'], value: 1 }]);
      const { position } = await store.read();
      await ask(etcd.urls[0] ?? '', 'kv/compaction', { revision: position });
      return reading;
    },
  });
} else {
  void t.test('the store in three servers of etcd', { skip }, () => undefined);
}
