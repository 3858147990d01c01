import t from 'tap';
import { ethernetHub } from '../../../src/lab/kinds/ethernet-hub.js';

const port = { name: 'a', port_number: 3 };

void t.test('a new hub has eight ports', (t) => {
  const { ports_mapping } = ethernetHub.create({});
  t.same(
    ports_mapping,
    Array.from({ length: 8 }, (_, index) => ({ name: `Ethernet${index}`, port_number: index })),
  );
  t.same(ethernetHub.create({ ports_mapping: [port] }), { ports_mapping: [port] });
  t.end();
});

void t.test('a port of a hub has no settings', (t) => {
  t.ok(ethernetHub.properties.safeParse({ ports_mapping: [port] }).success);
  for (const bad of [{ ...port, type: 'access' }, { ...port, vlan: 1 }, { name: 'a' }, { port_number: 0 }]) {
    t.notOk(ethernetHub.properties.safeParse({ ports_mapping: [bad] }).success, JSON.stringify(bad));
  }
  t.end();
});

void t.test('a changed list is renumbered, unless the hub is connected', (t) => {
  const current = { ports_mapping: [port] };
  const other = { ports_mapping: [port, port] };
  t.same(ethernetHub.update(current, other, false), {
    ports_mapping: [
      { name: 'Ethernet0', port_number: 0 },
      { name: 'Ethernet1', port_number: 1 },
    ],
  });
  t.throws(() => ethernetHub.update(current, other, true), {
    status: 409,
    message: "Can't modify a hub already connected.",
  });
  t.equal(
    ethernetHub.update(current, { ports_mapping: [{ ...port }] }, true),
    current,
    'the same is no change',
  );
  t.equal(ethernetHub.update(current, {}, true), current);
  t.end();
});
