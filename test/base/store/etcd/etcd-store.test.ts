/** The store in etcd, over one server of etcd; `WIREFARM_TEST_ETCD` may name one that is there already. */
import { basename } from 'node:path';
import t, { type Test } from 'tap';
import type { Change, Key, SharedStore } from '../../../../src/base/store/store.js';
import { EtcdFolderStore, ETCD } from '../../../support/etcd-folder-store.js';
import { EtcdProxy, type Fate } from '../../../support/etcd-proxy.js';
import { ask, EtcdCluster, missingEtcd } from '../../../support/etcd.js';
import { eventually } from '../../../support/eventually.js';
import { scratchFolder } from '../../../support/scratch.js';
import { claimOf, sharedStoreContract } from '../several-servers.contract.js';
import { storeContract } from '../store.contract.js';

const given = process.env['WIREFARM_TEST_ETCD'];
const skip = given === undefined && missingEtcd();
const base64 = (text: string): string => Buffer.from(text).toString('base64');
const keyIn = (folder: string, key: Key): string =>
  base64(['', basename(folder), ...key.map(encodeURIComponent)].join('/'));
const put = (key: Key, value: unknown = 1): Change => ({ put: key, value });

if (skip === false) {
  const address = given ?? (await EtcdCluster.start(t)).address('');
  process.env[ETCD] = address.replace(/\/$/, '');
  const [url = ''] = address.replace('etcd://', 'http://').split(/,|\/$/);
  storeContract(t, {
    open: (folder) => new EtcdFolderStore(folder),
    module: new URL('../../../support/etcd-folder-store.js', import.meta.url),
    className: 'EtcdFolderStore',
    impossible: { put: ['x', 'k'.repeat(10_000)], value: 1 },
    outdated: async (store) => {
      const reading = await store.read();
      for (let count = 0; count < 3; count++) await store.commit([{ put: ['f', 'much'], value: count }]);
      const { position } = await store.read();
      await ask(url, 'kv/compaction', { revision: position });
      return reading;
    },
  });
  sharedStoreContract(t, {
    open: (folder, server) => new EtcdFolderStore(folder, server),
    evict: async (folder, scope) => {
      await ask(url, 'kv/deleterange', { key: keyIn(folder, ['owner', scope]) });
    },
    forget: async (folder, key) => {
      const { kvs } = (await ask(url, 'kv/range', { key: keyIn(folder, key) })) as {
        kvs: { lease: string }[];
      };
      await ask(url, 'lease/revoke', { ID: kvs[0]?.lease });
    },
  });
  lossyWays(url);
} else {
  void t.test('the store in etcd', { skip }, () => undefined);
}

/** Commits whose requests and answers are lost. */
function lossyWays(url: string): void {
  const isPut = (body: string): boolean => body.includes('request_put');
  const withProxy = (
    name: string,
    work: (
      t: Test,
      rig: { proxy: EtcdProxy; lossy: SharedStore; sound: SharedStore; folder: string },
    ) => Promise<void>,
  ): void => {
    void t.test(name, async (t) => {
      const folder = scratchFolder(t);
      const proxy = await EtcdProxy.start(t, url);
      const lossy = new EtcdFolderStore(folder, 'lossy', proxy.address);
      const sound = new EtcdFolderStore(folder, 'sound');
      await lossy.commit([put(['opened'])]);
      await work(t, { proxy, lossy, sound, folder });
      proxy.fate = () => 'pass';
      await Promise.all([lossy.close(), sound.close()]);
    });
  };

  withProxy(
    'a commit happens once, whatever becomes of requests and answers',
    async (t, { proxy, lossy, sound }) => {
      const { position } = await sound.read();
      const told: string[] = [];
      sound.follow([['n']], position, {
        committed: (changes) =>
          told.push(...changes.map((change) => ('put' in change ? (change.put[1] ?? '') : 'no put'))),
        gone: () => t.fail('it is kept'),
      });
      const claim = await claimOf(lossy, 's');
      let count = 0;
      const fates: Fate[] = ['swallow', 'refuse', 'pass', 'swallow', 'swallow', 'pass'];
      proxy.fate = () => fates[count++ % fates.length] ?? 'pass';
      const numbers = Array.from({ length: 6 }, (_, index) => String(index));
      for (const n of numbers) {
        await claim.store.commit([put(['n', `claimed-${n}`])]);
        await lossy.commit([put(['n', `unclaimed-${n}`])]);
      }
      await eventually('all were told', () => told.length >= 12 || undefined);
      t.same(
        told,
        numbers.flatMap((n) => [`claimed-${n}`, `unclaimed-${n}`]),
      );
      proxy.fate = (path) => (path === '/v3/kv/txn' ? 'swallow' : 'pass');
      await claim.release();
      t.same((await sound.claim('s')) instanceof Object && (await sound.load(['owner'])), [
        { key: ['owner', 's'], value: 'sound' },
      ]);
    },
  );

  withProxy(
    'a former holder learns that its last commit had happened',
    async (t, { proxy, lossy, sound, folder }) => {
      const claim = await claimOf(lossy, 's');
      let takeover: Promise<unknown> | undefined;
      proxy.fate = (_path, body) => {
        if (takeover !== undefined) return 'pass';
        if (!isPut(body)) return 'pass';
        takeover = eventually(
          'the commit has happened',
          async () => (await sound.load(['s'])).length > 0 || undefined,
        )
          .then(() => ask(url, 'kv/deleterange', { key: keyIn(folder, ['owner', 's']) }))
          .then(() => claimOf(sound, 's'));
        return 'swallow';
      };
      const commit = claim.store.commit([put(['s', 'last'])]);
      await commit;
      await eventually('another has it', () => takeover);
      await t.rejects(claim.store.commit([put(['s', 'later'])]), { code: 'claim_lost' });
      t.same((await sound.load(['s'])).length, 1);
    },
  );

  withProxy(
    'a full etcd refuses, and what was on its way is settled first',
    async (t, { proxy, lossy, sound }) => {
      await lossy.commit([put(['e', 'a'], 1)]);
      proxy.fate = (_path, body) => (isPut(body) ? 'full' : 'pass');
      await t.rejects(lossy.commit([put(['e', 'a'], 2)]), { code: 'store_full', status: 507 });
      t.same(await sound.load(['e']), [{ key: ['e', 'a'], value: 1 }]);

      const inTurn = (first: Fate): void => {
        let puts = 0;
        proxy.fate = (_path, body) => (isPut(body) ? (puts++ === 0 ? first : 'full') : 'pass');
      };
      inTurn('swallow');
      await lossy.commit([put(['e', 'a'], 3)]);
      t.same(await sound.load(['e']), [{ key: ['e', 'a'], value: 3 }], 'it had happened');
      inTurn('refuse');
      await t.rejects(lossy.commit([put(['e', 'a'], 4)]), { code: 'store_full' });
      t.same(await sound.load(['e']), [{ key: ['e', 'a'], value: 3 }], 'it had not, and never will');
      proxy.fate = () => 'pass';
      await lossy.commit([put(['e', 'a'], 5)]);
      t.same(await sound.load(['e']), [{ key: ['e', 'a'], value: 5 }]);
    },
  );

  withProxy('a large commit that is decided is finished by another', async (t, { proxy, lossy, sound }) => {
    const value = 'x'.repeat(100);
    const keys = Array.from({ length: 1100 }, (_, index) => ['l', String(index).padStart(4, '0')]);
    let isCut = false;
    const claim = await claimOf(lossy, 's');
    proxy.fate = (_path, body) => {
      // The first step is the first request that puts records.
      isCut ||= (body.match(/request_put/g)?.length ?? 0) > 100;
      return isCut ? 'refuse' : 'pass';
    };
    await claim.store.commit(keys.map((key) => put(key, value)));
    t.ok(isCut);
    t.equal((await sound.load(['l'])).length, 1100, 'readers have all of it');
    await sound.commit([put(['l', '0000'], 'newer')]);
    const records = await sound.load(['l']);
    t.equal(records.length, 1100);
    t.equal(records[0]?.value, 'newer');
    proxy.fate = () => 'pass';
    await claim.store.commit([put(['l', '0001'], 'newer')]);
    t.equal((await sound.load(['l', '0001']))[0]?.value, 'newer');
  });
}
