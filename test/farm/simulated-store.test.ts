import t from 'tap';
import type { Store } from '../../src/base/store/store.js';
import { storeContract } from '../base/store/store.contract.js';
import { SimulatedEtcd } from '../support/simulated-etcd.js';
import { SimulatedStore } from '../support/simulated-store.js';
import { SimulatedMachine, SimulatedTime } from '../support/simulated-time.js';

const clusters = new Map<string, SimulatedEtcd>();
const byStore = new Map<Store, SimulatedEtcd>();
let servers = 0;

/** A server that has the records of the folder. */
function opened(folder: string): SimulatedStore {
  const etcd = clusters.get(folder) ?? new SimulatedEtcd(new SimulatedTime());
  clusters.set(folder, etcd);
  const store = new SimulatedStore(etcd, new SimulatedMachine(etcd.time), `s${++servers}`);
  byStore.set(store, etcd);
  return store;
}

storeContract(t, {
  open: opened,
  impossible: { put: ['x', 'k'.repeat(10_000)], value: 1 },
  outdated: async (store) => {
    const reading = await store.read();
    await store.commit([{ put: ['f', 'much'], value: 1 }]);
    byStore.get(store)?.compact();
    return reading;
  },
});
