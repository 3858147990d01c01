/** The store in etcd, over one server of etcd; `WIREFARM_TEST_ETCD` may name one that is there already. */
import t from 'tap';
import { EtcdFolderStore, ETCD } from '../../../support/etcd-folder-store.js';
import { ask, EtcdCluster, missingEtcd } from '../../../support/etcd.js';
import { storeContract } from '../store.contract.js';

const given = process.env['WIREFARM_TEST_ETCD'];
const skip = given === undefined && missingEtcd();

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
} else {
  void t.test('the store in etcd', { skip }, () => undefined);
}
