import t from 'tap';
import { cloud, portsOfInterfaces } from '../../../src/lab/kinds/cloud.js';
import { nat } from '../../../src/lab/kinds/nat.js';
import { checkTable, choice, NO_TEXTS, range, TEXT } from '../../support/kind-tables.js';
import { NODE_ID, portOwnerOf } from '../../support/port-owners.js';

const ETHERNET = { name: 'eth0', port_number: 0, type: 'ethernet', interface: 'eth0' };
const TAP = { name: 'tap', port_number: 9, type: 'tap', interface: 'tap0' };
const UDP = { name: 'far', port_number: 9, type: 'udp', lport: 1, rhost: '192.0.2.1', rport: 65_535 };
const NAT_PORT = { interface: 'virbr0', name: 'nat0', port_number: 0, type: 'ethernet' };
const NEW = {
  interfaces: [],
  ports_mapping: [],
  remote_console_host: '',
  remote_console_http_path: '/',
  remote_console_port: 23,
  remote_console_type: 'none',
};
const many = (count: number): object[] => Array.from({ length: count }, () => ETHERNET);
const mapping = [
  [[], [ETHERNET, TAP, UDP], many(1024)],
  [
    ...[null, {}, [null], [5], [{}], many(1025)],
    [{ ...ETHERNET, type: 'udp' }],
    [{ ...ETHERNET, type: 'vlan' }],
    [{ ...ETHERNET, interface: '' }],
    [{ ...ETHERNET, name: '' }],
    [{ ...ETHERNET, name: 'x'.repeat(256) }],
    [{ ...ETHERNET, port_number: -1 }],
    [{ ...ETHERNET, lport: 5 }],
    [ETHERNET, { ...UDP, lport: 0 }],
    [ETHERNET, { ...UDP, rport: 65_536 }],
    [{ ...UDP, rhost: '' }],
    [{ name: 'x', type: 'tap', port_number: 0 }],
  ],
] as const;
const TYPES = ['telnet', 'vnc', 'spice', 'http', 'https', 'none'];

void t.test('every key of the schemas is taken or refused on purpose', (t) => {
  checkTable(t, cloud.properties, {
    interfaces: [
      [[], [{ name: 'eth0', type: 'ethernet', special: false }]],
      [null, {}, 'x', many(4097)],
    ],
    ports_mapping: mapping,
    remote_console_host: TEXT,
    remote_console_http_path: TEXT,
    remote_console_port: range(1, 65_535, null),
    remote_console_type: choice(...TYPES),
  });
  checkTable(t, nat.properties, { ports_mapping: mapping });
  t.notOk(cloud.properties.safeParse({ node_directory: '/' }).success);
  const name = [['x'], ['', null, ...NO_TEXTS]] as const;
  const base = {
    category: [
      ['router', 'guest', 3],
      ['kitchen', null, {}],
    ],
    default_name_format: name,
    name,
    symbol: name,
  } as const;
  checkTable(t, cloud.template.settings, {
    ...base,
    ports_mapping: mapping,
    remote_console_host: name,
    remote_console_http_path: name,
    remote_console_port: range(1, 65_535),
    remote_console_type: choice(...TYPES),
  });
  checkTable(t, nat.template.settings, base);
  t.strictSame(cloud.template.defaults, {
    category: 'guest',
    default_name_format: 'Cloud{0}',
    ports_mapping: [],
    remote_console_host: '127.0.0.1',
    remote_console_http_path: '/',
    remote_console_port: 23,
    remote_console_type: 'none',
    symbol: ':/symbols/cloud.svg',
  });
  t.end();
});

void t.test('a new cloud numbers its ports by position, and keeps their names', (t) => {
  t.strictSame(cloud.create({}, NODE_ID), NEW);
  t.strictSame(
    cloud.create({ ...NEW, remote_console_port: null, interfaces: [{ name: 'x' }] }, NODE_ID),
    NEW,
  );
  const { ports_mapping } = cloud.create({ ports_mapping: [ETHERNET, TAP, UDP] }, NODE_ID);
  t.strictSame(ports_mapping, [ETHERNET, { ...TAP, port_number: 1 }, { ...UDP, port_number: 2 }]);
  t.ok(cloud.properties.safeParse(NEW).success, 'what was read can be sent back');
  t.same(Object.keys(cloud.shownProperties).sort(), Object.keys(NEW));
  t.end();
});

void t.test('without ports of its own a cloud has the interfaces of the host', (t) => {
  const list = [
    { name: 'lo', type: 'ethernet', special: true },
    { name: 'eth0', type: 'ethernet', special: false },
    { name: 'tap3', type: 'tap', special: false },
  ] as const;
  t.strictSame(portsOfInterfaces(list), [
    ETHERNET,
    { interface: 'tap3', name: 'tap3', port_number: 1, type: 'tap' },
  ]);
  t.end();
});

void t.test('the ports of a connected cloud stay', (t) => {
  const current = { ...NEW, ports_mapping: [ETHERNET], interfaces: [{ name: 'eth0' }] };
  t.strictSame(cloud.update(current, { ports_mapping: [{ ...ETHERNET }], interfaces: [] }, true), current);
  t.throws(() => cloud.update(current, { ports_mapping: [TAP] }, true), {
    status: 409,
    message: "Can't modify a cloud already connected.",
  });
  t.strictSame(cloud.update(current, { ports_mapping: [TAP], remote_console_port: 24 }, false), {
    ...current,
    ports_mapping: [{ ...TAP, port_number: 0 }],
    remote_console_port: 24,
  });
  t.end();
});

void t.test('the port of a NAT node cannot be changed', (t) => {
  const made = nat.create({}, NODE_ID);
  t.strictSame(made, { ports_mapping: [NAT_PORT] });
  t.strictSame(nat.create({ ports_mapping: [NAT_PORT] }, NODE_ID), made);
  t.equal(nat.update(made, {}, true), made);
  t.equal(nat.update(made, { ports_mapping: [{ ...NAT_PORT }] }, true), made);
  const refused = { status: 409, message: 'The ports of a NAT node cannot be changed' };
  t.throws(() => nat.create({ ports_mapping: [ETHERNET] }, NODE_ID), refused);
  t.throws(() => nat.update(made, { ports_mapping: [] }, false), refused);
  const older = { ports_mapping: [{ ...NAT_PORT, interface: 'vmnet8' }] };
  t.equal(nat.update(older, older, false), older);
  t.end();
});

void t.test('ports have the names of the mapping, long and short', (t) => {
  const common = {
    adapter_number: 0,
    data_link_types: { Ethernet: 'DLT_EN10MB' },
    link_type: 'ethernet',
  };
  t.strictSame(cloud.ports(portOwnerOf({ ports_mapping: [{ ...ETHERNET, port_number: 7 }, TAP] })), [
    { ...common, name: 'eth0', port_number: 0, short_name: 'eth0' },
    { ...common, name: 'tap', port_number: 1, short_name: 'tap' },
  ]);
  t.strictSame(nat.ports(portOwnerOf({ ports_mapping: [NAT_PORT] })), [
    { ...common, name: 'nat0', port_number: 0, short_name: 'nat0' },
  ]);
  const strange = [null, 5, {}, { name: 5 }, []];
  t.same(
    cloud.ports(portOwnerOf({ ports_mapping: strange })).map(({ name }) => name),
    ['0', '1', '2', '3', '4'],
  );
  for (const ports_mapping of [undefined, null, 5, 'x', {}])
    t.same(nat.ports(portOwnerOf({ ports_mapping })), []);
  t.end();
});

void t.test('both always run, have no console, and cannot be duplicated', (t) => {
  for (const kind of [cloud, nat]) {
    t.equal(kind.alwaysRuns, true);
    t.same(kind.consoleTypes, []);
    t.equal(kind.cannotBeDuplicated, true);
  }
  t.end();
});
