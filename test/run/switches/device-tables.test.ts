import t from 'tap';
import { dlciTable, dlciTableOf, macTable, macTableOf } from '../../../src/run/switches/device-tables.js';

void t.test('the stations of an Ethernet switch are told by the numbers of their ports', (t) => {
  const mac = '00:00:5e:00:53:01';
  const shown = macTableOf({ mac_table: [{ mac, vlan: 7, port: 3, age_seconds: 2.5 }] });
  t.same(shown, [{ age_seconds: 2.5, mac_address: mac, port_number: 3, vlan: 7 }]);
  t.ok(macTable.safeParse(shown).success);
  t.end();
});

void t.test(
  'the DLCIs of a Frame Relay switch are told port by port, with the state of the management',
  (t) => {
    const lmi = {
      dialect: 'ansi',
      enquiries: 2,
      last_enquiry_seconds_ago: 1,
      receive_sequence: 2,
      send_sequence: 3,
    };
    const dlcis = [{ active: true, dlci: 101, to_dlci: 202, to_port: 2 }];
    const shown = dlciTableOf({ ports: [{ port: 1, lmi, dlcis }] });
    t.same(shown, [
      { dlcis: [{ active: true, dlci: 101, to_dlci: 202, to_port_number: 2 }], lmi, port_number: 1 },
    ]);
    t.ok(dlciTable.safeParse(shown).success);
    t.end();
  },
);

void t.test('what is no table is a fault', (t) => {
  t.throws(() => macTableOf(null));
  t.throws(() => dlciTableOf({}));
  t.end();
});
