import t from 'tap';
import { ethernetSwitch } from '../../../src/lab/kinds/ethernet-switch.js';
import type { Properties } from '../../../src/lab/kinds/node-kind.js';

const parse = (...list: readonly unknown[]): Properties =>
  ethernetSwitch.properties.parse({ ports_mapping: list });
const isAccepted = (port: unknown): boolean =>
  ethernetSwitch.properties.safeParse({ ports_mapping: [port] }).success;
const access = { name: 'a', port_number: 0, type: 'access', vlan: 1 };

void t.test('a new switch has eight access ports in VLAN 1', (t) => {
  const { ports_mapping } = ethernetSwitch.create({});
  t.same(
    ports_mapping,
    Array.from({ length: 8 }, (_, index) => ({
      name: `Ethernet${index}`,
      port_number: index,
      type: 'access',
      vlan: 1,
    })),
  );
  t.end();
});

void t.test('given ports are kept as they were given, VLAN 1 where none is named', (t) => {
  const { vlan, ...port } = { ...access, name: 'uplink', port_number: 7 };
  t.same(ethernetSwitch.create(parse(port)), { ports_mapping: [{ ...port, vlan }] });
  t.same(ethernetSwitch.create(parse()), { ports_mapping: [] });
  t.end();
});

void t.test('ports outside the contract are refused', (t) => {
  for (const port of [access, { ...access, type: 'qinq', ethertype: '0x88A8', vlan: 4094 }]) {
    t.ok(isAccepted(port));
  }
  const bad: readonly unknown[] = [
    5,
    {},
    { ...access, name: '' },
    { ...access, port_number: -1 },
    { ...access, type: 'trunk' },
    { ...access, vlan: 0 },
    { ...access, vlan: 4095 },
    { ...access, vlan: '1' },
    { ...access, ethertype: '0x1234' },
    { ...access, later: 1 },
  ];
  for (const port of bad) t.notOk(isAccepted(port), JSON.stringify(port));
  const tooMany = Array.from({ length: 1025 }, () => access);
  t.notOk(ethernetSwitch.properties.safeParse({ ports_mapping: tooMany }).success);
  t.end();
});

void t.test('a changed list is renamed and renumbered by position', (t) => {
  const current = ethernetSwitch.create({});
  const next = ethernetSwitch.update(
    current,
    parse({ ...access, name: 'x', port_number: 9, vlan: 5 }),
    false,
  );
  t.same(next, { ports_mapping: [{ ...access, name: 'Ethernet0', vlan: 5 }] });
  t.end();
});

void t.test('the same list changes nothing, and keeps its names', (t) => {
  const current = ethernetSwitch.create(parse({ ...access, name: 'uplink' }));
  t.equal(ethernetSwitch.update(current, parse({ ...access, name: 'uplink' }), true), current);
  t.equal(ethernetSwitch.update(current, {}, true), current);
  t.end();
});

void t.test('while it is connected, settings may change but not the number of ports', (t) => {
  const current = ethernetSwitch.create(parse(access, access));
  t.same(ethernetSwitch.update(current, parse({ ...access, vlan: 2 }, access), true), {
    ports_mapping: [
      { ...access, name: 'Ethernet0', vlan: 2 },
      { ...access, name: 'Ethernet1', port_number: 1 },
    ],
  });
  for (const list of [[access], [access, access, access]]) {
    t.throws(() => ethernetSwitch.update(current, parse(...list), true), {
      status: 409,
      message: "Can't modify a switch already connected.",
    });
  }
  t.end();
});

void t.test('it has a console, and none is the default', (t) => {
  t.same(ethernetSwitch.consoleTypes, ['none', 'telnet']);
  t.end();
});
