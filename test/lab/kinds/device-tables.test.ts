import t from 'tap';
import { ethernetSwitch } from '../../../src/lab/kinds/ethernet-switch.js';
import { frameRelaySwitch } from '../../../src/lab/kinds/frame-relay-switch.js';
import type { DeviceTable, SwitchKind } from '../../../src/lab/kinds/node-kind.js';

function tableOf({ tables }: SwitchKind, name: string): DeviceTable {
  const table = tables.find((each) => each.name === name);
  if (table === undefined) throw new Error(`there is no ${name}`);
  return table;
}

const macTable = tableOf(ethernetSwitch, 'mac_table');
const dlciTable = tableOf(frameRelaySwitch, 'dlcis');

void t.test('the stations of an Ethernet switch are told by the numbers of their ports', (t) => {
  const mac = '00:00:5e:00:53:01';
  const shown = macTable.rows({ mac_table: [{ mac, vlan: 7, port: 3, age_seconds: 2.5 }] });
  t.same(shown, [{ age_seconds: 2.5, mac_address: mac, port_number: 3, vlan: 7 }]);
  t.ok(macTable.schema.safeParse(shown).success);
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
    const shown = dlciTable.rows({ ports: [{ port: 1, lmi, dlcis }] });
    t.same(shown, [
      { dlcis: [{ active: true, dlci: 101, to_dlci: 202, to_port_number: 2 }], lmi, port_number: 1 },
    ]);
    t.ok(dlciTable.schema.safeParse(shown).success);
    t.end();
  },
);

void t.test('an answer that is no table is a fault', (t) => {
  t.throws(() => macTable.rows(null));
  t.throws(() => dlciTable.rows({}));
  t.end();
});
