import t from 'tap';
import { docker } from '../../../src/lab/kinds/docker.js';
import {
  BOOLEAN,
  checkTable,
  choice,
  HUGE,
  NO_TEXTS,
  NULLABLE_TEXT,
  range,
  TEXT,
  type Table,
} from '../../support/kind-tables.js';
import { NODE_ID, portOwnerOf } from '../../support/port-owners.js';

const NEW = {
  adapters: 1,
  aux: null,
  console_http_path: '/',
  console_http_port: 80,
  console_resolution: '1024x768',
  container_id: null,
  environment: null,
  extra_hosts: null,
  extra_volumes: [],
  image: 'alpine:latest',
  mac_address: '02:42:f0:32:4e:00',
  start_command: null,
  usage: '',
};
const ID = 'a1'.repeat(32);
const made = (given: Record<string, unknown>): Record<string, unknown> => docker.create(given, NODE_ID);

const RESOLUTIONS = ['1x1', '1024x768'];
const NO_RESOLUTIONS = ['', '1024', 'x768', '1024X768', '1024x768\n', '9'.repeat(20) + 'x1', 5, {}, HUGE];
const ADDRESSES = ['02:42:00:00:00:00', 'AA:bb:cc:DD:ee:ff'];
const NO_ADDRESSES = ['02:42:00:00:00', 'x', 5, {}];
const image = [
  ['alpine', 'host:5000/a/b@sha256:0'],
  ['', null, ...NO_TEXTS],
] as const;
const volumes = [
  [[], ['/data', 'relative']],
  [null, '/data', [5], ['x'.repeat(4097)], Array.from({ length: 257 }, () => '/a')],
] as const;
const custom = [
  [[], [{ adapter_number: 0 }]],
  [
    Array.from({ length: 1025 }, () => ({ adapter_number: 0 })),
    [{ adapter_number: 0, port_name: HUGE }],
    null,
    {},
    [{}],
    [{ adapter_number: 0, more: 1 }],
  ],
] as const;

void t.test('every key of the schema is taken or refused on purpose', (t) => {
  const table: Table = {
    adapters: range(0, 99, null),
    aux: range(1, 65_535, null),
    console_http_path: TEXT,
    console_http_port: range(1, 65_535),
    console_resolution: [[...RESOLUTIONS, null], NO_RESOLUTIONS],
    container_id: [
      ['a'.repeat(12), ID, null],
      ['', 'a'.repeat(11), 'a'.repeat(65), 'A'.repeat(12), 5, HUGE],
    ],
    custom_adapters: custom,
    environment: NULLABLE_TEXT,
    extra_hosts: NULLABLE_TEXT,
    extra_volumes: volumes,
    image,
    mac_address: [
      [...ADDRESSES, null],
      ['', ...NO_ADDRESSES],
    ],
    start_command: NULLABLE_TEXT,
    usage: TEXT,
  };
  checkTable(t, docker.properties, table);
  for (const key of ['name', 'memory', 'console']) {
    t.notOk(docker.properties.safeParse({ [key]: null }).success, key);
  }
  t.end();
});

void t.test('every setting of a template is taken or refused on purpose', (t) => {
  const name = [['x'], ['', null, ...NO_TEXTS]] as const;
  checkTable(t, docker.template.settings, {
    adapters: range(0, 99),
    category: [
      ['router', 'guest', 3],
      ['kitchen', null, {}],
    ],
    console_auto_start: BOOLEAN,
    console_http_path: name,
    console_http_port: range(1, 65_535),
    console_resolution: [RESOLUTIONS, [null, ...NO_RESOLUTIONS]],
    console_type: choice('telnet', 'vnc', 'http', 'https', 'none'),
    custom_adapters: custom,
    default_name_format: name,
    environment: TEXT,
    extra_hosts: TEXT,
    extra_volumes: volumes,
    image,
    mac_address: [
      ['', ...ADDRESSES],
      [null, ...NO_ADDRESSES],
    ],
    name,
    start_command: TEXT,
    symbol: name,
    usage: TEXT,
  });
  t.strictSame(docker.template.defaults, {
    adapters: 1,
    category: 'guest',
    console_auto_start: false,
    console_http_path: '/',
    console_http_port: 80,
    console_resolution: '1024x768',
    console_type: 'telnet',
    custom_adapters: [],
    default_name_format: '{name}-{0}',
    environment: '',
    extra_hosts: '',
    extra_volumes: [],
    mac_address: '',
    start_command: '',
    symbol: ':/symbols/docker_guest.svg',
    usage: '',
  });
  t.ok(docker.template.settings.safeParse(docker.template.defaults).success);
  t.same(docker.template.required, ['image']);
  t.end();
});

void t.test('a new container has the defaults of GNS3', (t) => {
  t.strictSame(made({ image: 'alpine' }), NEW);
  t.ok(docker.properties.safeParse(NEW).success, 'what was read can be sent back');
  t.strictSame(made(NEW), NEW);
  t.same(Object.keys(docker.shownProperties).sort(), Object.keys(NEW));
  t.throws(() => made({ adapters: 3 }), { status: 400, message: /image is required/ });
  t.end();
});

void t.test('an image without a tag is the latest', (t) => {
  for (const [given, kept] of [
    ['alpine', 'alpine:latest'],
    ['alpine:3', 'alpine:3'],
    ['localhost:5000/alpine', 'localhost:5000/alpine:latest'],
    ['a/b@sha256:00', 'a/b@sha256:00'],
  ]) {
    t.equal(made({ image: given })['image'], kept);
  }
  t.end();
});

void t.test('a blank command is none', (t) => {
  for (const start_command of ['', '  \n', null]) {
    t.equal(made({ image: 'a', start_command })['start_command'], null);
  }
  t.equal(docker.update(NEW, { start_command: ' ls ' }, true)['start_command'], 'ls');
  t.equal(docker.update({ ...NEW, start_command: 'ls' }, { start_command: '' }, true)['start_command'], null);
  t.end();
});

void t.test('volumes are absolute, and lead nowhere else', (t) => {
  for (const path of ['', 'data', '../etc', '/data/../etc', '/..']) {
    const message = `Persistent volume '${path}' has invalid format. It must start with a '/' and not contain '..'.`;
    t.throws(() => made({ image: 'a', extra_volumes: ['/good', path] }), { status: 409, message });
    t.throws(() => docker.update(NEW, { extra_volumes: [path] }, false), { status: 409, message });
  }
  t.same(made({ image: 'a', extra_volumes: ['/a'] })['extra_volumes'], ['/a']);
  t.end();
});

void t.test('a change keeps the rest; the engine alone names the container', (t) => {
  const current = { ...NEW, container_id: ID, aux: 5001 };
  t.strictSame(docker.update(current, {}, true), current);
  t.strictSame(docker.update(current, { container_id: 'b'.repeat(64), custom_adapters: [] }, true), current);
  t.strictSame(docker.update(current, { environment: 'A=1', adapters: null }, true), {
    ...current,
    environment: 'A=1',
  });
  t.same(docker.uniqueProperties, ['aux', 'container_id', 'mac_address']);
  t.end();
});

void t.test('ports are eth0 and so on', (t) => {
  const common = { data_link_types: { Ethernet: 'DLT_EN10MB' }, link_type: 'ethernet', port_number: 0 };
  const owner = portOwnerOf(
    { ...NEW, adapters: 3 },
    {
      portNameFormat: 'ignored{',
      firstPortName: 'ignored',
      customAdapters: [{ adapter_number: 1, port_name: 'wan/Ethernet0', mac_address: 'AA:00:00:00:00:00' }],
    },
  );
  t.strictSame(docker.ports(owner), [
    { ...common, adapter_number: 0, mac_address: '02:42:f0:32:4e:00', name: 'eth0', short_name: 'eth0' },
    {
      ...common,
      adapter_number: 1,
      mac_address: 'AA:00:00:00:00:00',
      name: 'wan/Ethernet0',
      short_name: 'wan/Ethernet0',
    },
    { ...common, adapter_number: 2, mac_address: '02:42:f0:32:4e:02', name: 'eth2', short_name: 'eth2' },
  ]);
  for (const adapters of [-5, 1e9, 1.5, '3', null, {}]) {
    t.ok(docker.ports(portOwnerOf({ adapters, mac_address: 5 })).length <= 99);
  }
  t.equal(docker.ports(portOwnerOf({ adapters: 0 })).length, 0);
  t.end();
});
