import t from 'tap';
import { qemu } from '../../../src/lab/kinds/qemu.js';
import {
  BOOLEAN,
  checkTable,
  choice,
  HUGE,
  NO_TEXTS,
  NULLABLE_BOOLEAN,
  NULLABLE_TEXT,
  range,
  TEXT,
  type Table,
} from '../../support/kind-tables.js';
import { NODE_ID, portOwnerOf } from '../../support/port-owners.js';

/** The sample of GNS3, for a node whose id begins with 12f0324e. */
const SAMPLE = {
  adapter_type: 'e1000',
  adapters: 2,
  bios_image: '',
  bios_image_md5sum: null,
  boot_priority: 'c',
  cdrom_image: '',
  cdrom_image_md5sum: null,
  cpu_throttling: 0,
  cpus: 1,
  create_config_disk: false,
  hda_disk_image: '',
  hda_disk_image_md5sum: null,
  hda_disk_interface: 'none',
  hdb_disk_image: '',
  hdb_disk_image_md5sum: null,
  hdb_disk_interface: 'none',
  hdc_disk_image: '',
  hdc_disk_image_md5sum: null,
  hdc_disk_interface: 'none',
  hdd_disk_image: '',
  hdd_disk_image_md5sum: null,
  hdd_disk_interface: 'none',
  initrd: '',
  initrd_md5sum: null,
  kernel_command_line: '',
  kernel_image: '',
  kernel_image_md5sum: null,
  legacy_networking: false,
  mac_address: '0c:f0:32:4e:00:00',
  on_close: 'power_off',
  options: '',
  platform: 'x86_64',
  process_priority: 'low',
  qemu_path: '/usr/bin/qemu-system-x86_64',
  ram: 256,
  replicate_network_connection_state: true,
  tpm: false,
  uefi: false,
  usage: '',
};

const made = (given: Record<string, unknown>): Record<string, unknown> => qemu.create(given, NODE_ID);
const IMAGES = ['hda_disk', 'hdb_disk', 'hdc_disk', 'hdd_disk', 'cdrom', 'bios', 'kernel'];
const INTERFACES = ['ide', 'sata', 'nvme', 'scsi', 'sd', 'mtd', 'floppy', 'pflash', 'virtio', 'none'];
const ADAPTER_TYPES = (
  'e1000 e1000-82544gc e1000-82545em e1000e i82550 i82551 i82557a i82557b i82557c i82558a i82558b i82559a ' +
  'i82559b i82559c i82559er i82562 i82801 igb ne2k_pci pcnet rocker rtl8139 virtio virtio-net-pci vmxnet3'
).split(' ');
const PLATFORMS = (
  'aarch64 alpha arm cris i386 lm32 m68k microblaze microblazeel mips mips64 mips64el mipsel moxie or32 ppc ' +
  'ppc64 ppcemb s390x sh4 sh4eb sparc sparc64 tricore unicore32 x86_64 xtensa xtensaeb'
).split(' ');
const PRIORITIES = ['realtime', 'very high', 'high', 'normal', 'low', 'very low'];
const PROGRAMS = [
  '/usr/bin/qemu-system-x86_64',
  'qemu-system-aarch64',
  'qemu-kvm',
  'C:\\Program Files\\GNS3\\qemu-system-x86_64w.exe',
];
const NO_PROGRAMS = [
  ...['/bin/sh', '', '/usr/bin/qemu-img', 'qemu-system-', 'qemu-system-x86_64/../sh', 'qemu-system-vax'],
  ...NO_TEXTS,
];
const ADDRESS = [['0c:00:00:00:00:00', 'AA:bb:cc:DD:ee:ff']] as const;
const NO_ADDRESSES = ['0c:00:00:00:00', '0c-00-00-00-00-00', '0c:00:00:00:00:0g', 5, {}, HUGE];
const CUSTOM = {
  adapter_number: 0,
  port_name: 'mgmt',
  adapter_type: 'igb',
  mac_address: '00:00:00:00:00:01',
};
const custom = [
  [[], [CUSTOM], [{ adapter_number: 3 }]],
  [
    Array.from({ length: 1025 }, () => ({ adapter_number: 0 })),
    [{ adapter_number: 0, port_name: HUGE }],
    null,
    {},
    [{}],
    [{ ...CUSTOM, more: 1 }],
    [{ ...CUSTOM, port_name: '' }],
    [{ ...CUSTOM, mac_address: 'x' }],
  ],
] as const;

const images = Object.fromEntries(
  [...IMAGES.map((name) => `${name}_image`), 'initrd'].map((key) => [key, TEXT]),
);
const digests = Object.fromEntries(
  [...IMAGES.map((name) => `${name}_image_md5sum`), 'initrd_md5sum'].map((key) => [
    key,
    [['', 'c'.repeat(32), null], NO_TEXTS] as const,
  ]),
);
const interfaces = Object.fromEntries(
  ['hda', 'hdb', 'hdc', 'hdd'].map((drive) => [`${drive}_disk_interface`, choice(...INTERFACES)]),
);

void t.test('every key of the schema is taken or refused on purpose', (t) => {
  const table: Table = {
    ...images,
    ...digests,
    ...interfaces,
    adapter_type: [
      [...ADAPTER_TYPES, 'virtio-net-device', null],
      ['', 'e1000,addr=3', 'e1000 -S', '-S', 'é', ...NO_TEXTS],
    ],
    adapters: range(0, 275, null),
    boot_priority: choice('c', 'd', 'n', 'cn', 'cd', 'dn', 'dc', 'nc', 'nd'),
    cpu_throttling: range(0, 800, null),
    cpus: range(1, 255, null),
    create_config_disk: NULLABLE_BOOLEAN,
    custom_adapters: custom,
    kernel_command_line: NULLABLE_TEXT,
    legacy_networking: NULLABLE_BOOLEAN,
    linked_clone: BOOLEAN,
    mac_address: [
      [...ADDRESS[0], null],
      ['', ...NO_ADDRESSES],
    ],
    on_close: choice('power_off', 'shutdown_signal', 'save_vm_state'),
    options: NULLABLE_TEXT,
    platform: choice(...PLATFORMS, '', 'null'),
    process_priority: choice(...PRIORITIES, 'null'),
    qemu_path: [[...PROGRAMS, null], NO_PROGRAMS],
    ram: range(1, 16_777_216, null),
    replicate_network_connection_state: NULLABLE_BOOLEAN,
    tpm: NULLABLE_BOOLEAN,
    uefi: NULLABLE_BOOLEAN,
    usage: TEXT,
  };
  checkTable(t, qemu.properties, table);
  for (const key of ['acpi_shutdown', 'name', 'save_vm_state', 'console']) {
    t.notOk(qemu.properties.safeParse({ [key]: null }).success, key);
  }
  t.end();
});

void t.test('every setting of a template is taken or refused on purpose', (t) => {
  const name = [['x'], ['', null, ...NO_TEXTS]] as const;
  const table: Table = {
    ...images,
    ...interfaces,
    adapter_type: choice(...ADAPTER_TYPES),
    adapters: range(0, 275),
    boot_priority: choice('c', 'd', 'n', 'cn', 'cd', 'dn', 'dc', 'nc', 'nd'),
    category: [
      ['router', 'guest', 3],
      ['kitchen', null, {}],
    ],
    console_auto_start: BOOLEAN,
    console_type: choice('telnet', 'vnc', 'spice', 'spice+agent', 'none'),
    cpu_throttling: range(0, 800),
    cpus: range(1, 255),
    create_config_disk: BOOLEAN,
    custom_adapters: custom,
    default_name_format: name,
    first_port_name: TEXT,
    kernel_command_line: TEXT,
    legacy_networking: BOOLEAN,
    linked_clone: BOOLEAN,
    mac_address: [
      ['', ...ADDRESS[0]],
      [null, ...NO_ADDRESSES],
    ],
    name,
    on_close: choice('power_off', 'shutdown_signal', 'save_vm_state'),
    options: TEXT,
    platform: choice(...PLATFORMS, ''),
    port_name_format: TEXT,
    port_segment_size: [
      [0, 4, 1_000_000],
      [-1, 1.5, '4', null],
    ],
    process_priority: choice(...PRIORITIES),
    qemu_path: [
      ['', ...PROGRAMS],
      [null, ...NO_PROGRAMS.filter((path) => path !== '')],
    ],
    ram: range(1, 16_777_216),
    replicate_network_connection_state: BOOLEAN,
    symbol: name,
    tpm: BOOLEAN,
    uefi: BOOLEAN,
    usage: TEXT,
  };
  checkTable(t, qemu.template.settings, table);
  t.end();
});

void t.test('a new machine has the properties of the sample', (t) => {
  t.strictSame(made({ adapters: 2 }), SAMPLE);
  t.strictSame(made({ ...SAMPLE, ram: null, usage: undefined }), SAMPLE, 'null is left to the default');
  t.ok(qemu.properties.safeParse(SAMPLE).success, 'what was read can be sent back');
  t.same(
    Object.keys(qemu.shownProperties).filter((key) => !(key in SAMPLE)),
    ['linked_clone', 'save_vm_state'],
  );
  t.end();
});

void t.test('a template has the defaults of GNS3', (t) => {
  const { mac_address, qemu_path, platform, process_priority, ...rest } = SAMPLE;
  const settings = Object.entries(rest).filter(([key]) => !key.endsWith('_md5sum'));
  t.strictSame(qemu.template.defaults, {
    ...Object.fromEntries(settings),
    adapters: 1,
    category: 'guest',
    console_auto_start: false,
    console_type: 'telnet',
    custom_adapters: [],
    default_name_format: '{name}-{0}',
    first_port_name: '',
    linked_clone: true,
    mac_address: '',
    platform: '',
    port_name_format: 'Ethernet{0}',
    port_segment_size: 0,
    process_priority: 'normal',
    qemu_path: '',
    symbol: ':/symbols/qemu_guest.svg',
  });
  t.ok(qemu.template.settings.safeParse(qemu.template.defaults).success);
  t.end();
});

void t.test('the program decides about the platform, and the other way round', (t) => {
  for (const [given, platform, path] of [
    [{ platform: 'mips' }, 'mips', '/usr/bin/qemu-system-mips'],
    [{ platform: '' }, 'x86_64', '/usr/bin/qemu-system-x86_64'],
    [{ platform: 'null', qemu_path: null }, 'x86_64', '/usr/bin/qemu-system-x86_64'],
    [{ qemu_path: '/opt/qemu-system-ppc64' }, 'ppc64', '/opt/qemu-system-ppc64'],
    [{ platform: 'mips', qemu_path: '/opt/qemu-system-ppc64' }, 'ppc64', '/opt/qemu-system-ppc64'],
    [{ qemu_path: '/usr/bin/qemu' }, 'i386', '/usr/bin/qemu'],
    [{ qemu_path: 'D:\\qemu-system-i386w.exe' }, 'i386', 'D:\\qemu-system-i386w.exe'],
    [{ qemu_path: '/usr/bin/qemu-kvm' }, 'x86_64', '/usr/bin/qemu-kvm'],
  ] as const) {
    t.hasStrict(made(given), { platform, qemu_path: path }, JSON.stringify(given));
  }
  const changed = qemu.update(SAMPLE, { platform: 'arm' }, false);
  t.strictSame(changed, { ...SAMPLE, platform: 'arm', qemu_path: '/usr/bin/qemu-system-arm' });
  t.strictSame(qemu.update(changed, { ram: 512 }, false), { ...changed, ram: 512 });
  t.end();
});

void t.test('a change keeps the rest, and forgets the digest of another image', (t) => {
  const current = { ...SAMPLE, hda_disk_image: 'a.qcow2', hda_disk_image_md5sum: 'd'.repeat(32) };
  t.strictSame(qemu.update(current, {}, true), current);
  t.strictSame(qemu.update(current, { ...current }, true), current);
  t.strictSame(qemu.update(current, { hda_disk_image_md5sum: 'e'.repeat(32), ram: null }, true), current);
  t.strictSame(qemu.update(current, { hda_disk_image: 'b.qcow2', options: '-S' }, true), {
    ...current,
    hda_disk_image: 'b.qcow2',
    hda_disk_image_md5sum: null,
    options: '-S',
  });
  t.equal(qemu.update(current, { linked_clone: false }, true)['linked_clone'], false);
  t.notOk('custom_adapters' in qemu.update(current, { custom_adapters: [CUSTOM] }, true));
  t.end();
});

void t.test('UEFI and an image of a BIOS exclude each other', (t) => {
  const conflict = { status: 409, message: /BIOS image and the UEFI/ };
  t.throws(() => made({ uefi: true, bios_image: 'bios.bin' }), conflict);
  t.throws(() => qemu.update({ ...SAMPLE, bios_image: 'bios.bin' }, { uefi: true }, false), conflict);
  t.equal(made({ uefi: true, bios_image: '' })['uefi'], true);
  t.end();
});

void t.test('the ports are those of the sample', (t) => {
  const common = {
    adapter_type: 'e1000',
    data_link_types: { Ethernet: 'DLT_EN10MB' },
    link_type: 'ethernet',
  };
  t.strictSame(qemu.ports(portOwnerOf(SAMPLE)), [
    {
      ...common,
      adapter_number: 0,
      mac_address: '0c:f0:32:4e:00:00',
      name: 'Ethernet0',
      port_number: 0,
      short_name: 'e0',
    },
    {
      ...common,
      adapter_number: 1,
      mac_address: '0c:f0:32:4e:00:01',
      name: 'Ethernet1',
      port_number: 0,
      short_name: 'e1',
    },
  ]);
  t.end();
});

void t.test('names follow the settings of the node', (t) => {
  const names = (count: number, more: object): string[] =>
    qemu.ports(portOwnerOf({ adapters: count }, more)).map((port) => `${port.name} ${port.short_name}`);
  t.same(names(3, { firstPortName: 'mgmt' }), ['mgmt mgmt', 'Ethernet0 e0', 'Ethernet1 e1']);
  t.same(names(2, { firstPortName: '' }), ['Ethernet0 e0', 'Ethernet1 e1']);
  t.same(names(5, { portNameFormat: 'Ethernet{1}/{0}', portSegmentSize: 2 }), [
    ...['Ethernet0/0 e0/0', 'Ethernet0/1 e0/1', 'Ethernet1/0 e1/0', 'Ethernet1/1 e1/1', 'Ethernet2/0 e2/0'],
  ]);
  t.same(names(2, { portNameFormat: 'Gi{adapter}/{port1}' }), ['Gi0/1 Gi0/1', 'Gi1/2 Gi1/2']);
  t.same(names(2, { portNameFormat: 'eth{0}' }), ['eth0 eth0', 'eth1 eth1']);
  t.same(names(2, { portNameFormat: 'Ethernet{port1}' }), ['Ethernet1 Ethernet1', 'Ethernet2 Ethernet2']);
  t.end();
});

void t.test('custom adapters win, the first of several for one', (t) => {
  const owner = portOwnerOf(SAMPLE, {
    customAdapters: [
      { adapter_number: 1, port_name: 'wan', adapter_type: 'igb', mac_address: 'AA:00:00:00:00:01' },
      { adapter_number: 1, port_name: 'second' },
      { adapter_number: 99, port_name: 'of no adapter' },
      { adapter_number: -1 },
    ],
  });
  t.hasStrict(qemu.ports(owner), [
    { name: 'Ethernet0', mac_address: '0c:f0:32:4e:00:00' },
    { name: 'wan', short_name: 'wan', adapter_type: 'igb', mac_address: 'AA:00:00:00:00:01' },
  ]);
  t.equal(qemu.ports(owner).length, 2);
  t.end();
});

void t.test('addresses count on over the end', (t) => {
  const owner = portOwnerOf({ adapters: 3, mac_address: 'FF:ff:ff:ff:ff:fe' });
  t.same(
    qemu.ports(owner).map((port) => port.mac_address),
    ['ff:ff:ff:ff:ff:fe', 'ff:ff:ff:ff:ff:ff', '00:00:00:00:00:00'],
  );
  t.end();
});

void t.test('whatever was stored has ports, and not many', (t) => {
  for (const adapters of [-5, 1e9, 1.5, '3', null, Number.NaN, {}]) {
    const ports = qemu.ports(
      portOwnerOf(
        { adapters, adapter_type: 5, mac_address: 'x' },
        { portNameFormat: '{', portSegmentSize: -3, nodeId: 'x' },
      ),
    );
    t.ok(ports.length <= 275);
    for (const port of ports.slice(0, 2)) t.match(port.mac_address, /^0c:00:00:00:00:0[01]$/);
  }
  const many = Array.from({ length: 20_000 }, (_, index) => ({
    adapter_number: index % 300,
    port_name: 'x',
  }));
  t.equal(qemu.ports(portOwnerOf({ adapters: 275 }, { customAdapters: many })).length, 275);
  t.end();
});

void t.test('the device of a custom adapter is no more than a name, and the format of names is one', (t) => {
  const check = (more: object): void => qemu.checkPorts?.(portOwnerOf(SAMPLE, more));
  check({ customAdapters: [{ adapter_number: 0, adapter_type: 'virtio-net-pci' }, { adapter_number: 1 }] });
  for (const type of ['e1000,script=/bin/sh', '-S', 'a b', 'x'.repeat(65)]) {
    const refused = { status: 409, message: `'${type}' is not the name of a network device` };
    t.throws(() => {
      check({ customAdapters: [{ adapter_number: 5 }, { adapter_number: 9, adapter_type: type }] });
    }, refused);
  }
  t.throws(
    () => {
      check({ portNameFormat: '}' });
    },
    { status: 409, message: "Invalid port name format }: Single '}' encountered in format string" },
  );
  t.end();
});
