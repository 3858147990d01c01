/** A store in etcd whose prefix is the name of a folder, also in another process. */
import { basename } from 'node:path';
import { etcdAddress } from '../../src/base/store/etcd/etcd-address.js';
import { EtcdStore } from '../../src/base/store/etcd/etcd-store.js';

/** The variable that has the address of etcd, without a prefix. */
export const ETCD = 'WIREFARM_TEST_ETCD_STARTED';

export class EtcdFolderStore extends EtcdStore {
  constructor(folder: string, server = 'a', servers = process.env[ETCD]) {
    const address = etcdAddress(`${servers}/${basename(folder)}`);
    if (address === undefined) throw new Error(`this is no address of etcd: ${servers}`);
    super({ ...address, server });
  }
}
