import t from 'tap';
import { positionedPorts, renumbered, storedList } from '../../../src/lab/kinds/ports-mapping.js';

void t.test('the position alone is the number of a port', (t) => {
  const ports = positionedPorts({
    ports_mapping: [
      { name: 'uplink', port_number: 7 },
      { name: 'b', port_number: 7 },
    ],
  });
  t.same(ports[0], {
    adapter_number: 0,
    data_link_types: { Ethernet: 'DLT_EN10MB' },
    link_type: 'ethernet',
    name: 'uplink',
    port_number: 0,
    short_name: 'e0',
  });
  t.match(ports[1], { name: 'b', port_number: 1, short_name: 'e1' });
  t.end();
});

void t.test('whatever was stored once makes ports without failing', (t) => {
  t.same(
    positionedPorts({ ports_mapping: [null, 5, {}, { name: 5 }, { name: 'x' }] }).map((port) => port.name),
    ['Ethernet0', 'Ethernet1', 'Ethernet2', 'Ethernet3', 'x'],
  );
  for (const ports_mapping of [undefined, null, 5, {}, 'list']) {
    t.same(positionedPorts({ ports_mapping }), []);
    t.same(storedList({ ports_mapping }), []);
  }
  t.end();
});

void t.test('renumbering keeps the settings and leaves the list it was given', (t) => {
  const list = [{ name: 'a', port_number: 5, vlan: 9 }];
  t.same(renumbered(list), [{ name: 'Ethernet0', port_number: 0, vlan: 9 }]);
  t.equal(list[0]?.name, 'a');
  t.end();
});
