import t from 'tap';
import { shownInterface } from '../../src/run/host-interfaces.js';

const seen = {
  name: 'eth0',
  isUp: true,
  mac: '02:00:00:00:00:01',
  address: '192.0.2.2',
  netmask: '255.255.255.0',
  tapOwner: undefined,
  isBridge: false,
};

void t.test('an interface is shown with the keys of the contract', (t) => {
  t.same(shownInterface(seen), {
    id: 'eth0',
    ip_address: '192.0.2.2',
    mac_address: '02:00:00:00:00:01',
    name: 'eth0',
    netmask: '255.255.255.0',
    special: false,
    type: 'ethernet',
  });
  t.end();
});

void t.test('TAP interfaces are known by their name', (t) => {
  t.equal(shownInterface({ ...seen, name: 'tap7' }).type, 'tap');
  t.equal(shownInterface({ ...seen, name: 'mytap' }).type, 'ethernet');
  t.end();
});

void t.test(
  'interfaces that the host has made for itself are special, and names that only end alike are not',
  (t) => {
    for (const name of [
      'lo',
      'docker0',
      'gns3tap0-1',
      'vethab12',
      'virbr0',
      'virbr0-nic',
      'ovs-system',
      'bridge0',
    ]) {
      t.equal(shownInterface({ ...seen, name }).special, true, name);
    }
    for (const name of ['eth0', 'wlan', 'wlxabc', 'eni', 'uplink-', 'br-lan']) {
      t.equal(shownInterface({ ...seen, name }).special, false, name);
    }
    t.end();
  },
);
