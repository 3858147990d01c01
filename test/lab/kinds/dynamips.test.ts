import t from 'tap';
import { dynamips } from '../../../src/lab/kinds/dynamips.js';
import {
  BOOLEAN,
  checkTable,
  choice,
  HUGE,
  NO_TEXTS,
  range,
  TEXT,
  type Table,
} from '../../support/kind-tables.js';
import { NODE_ID, portOwnerOf } from '../../support/port-owners.js';

type Json = Record<string, unknown>;

const PLATFORMS = ['c7200', 'c3745', 'c3725', 'c3600', 'c2691', 'c2600', 'c1700'];
const CARDS = [
  ...['C7200-IO-2FE', 'C7200-IO-FE', 'C7200-IO-GE-E', 'NM-16ESW', 'NM-1E', 'NM-1FE-TX', 'NM-4E', 'NM-4T'],
  ...['PA-2FE-TX', 'PA-4E', 'PA-4T+', 'PA-8E', 'PA-8T', 'PA-A1', 'PA-FE-TX', 'PA-GE', 'PA-POS-OC3'],
  ...['C2600-MB-2FE', 'C2600-MB-1E', 'C1700-MB-1FE', 'C2600-MB-2E', 'C2600-MB-1FE', 'C1700-MB-WIC1'],
  ...['GT96100-FE', 'Leopard-2FE'],
];
const WICS = ['WIC-1ENET', 'WIC-1T', 'WIC-2T'];
const NPES = ['npe-100', 'npe-150', 'npe-175', 'npe-200', 'npe-225', 'npe-300', 'npe-400', 'npe-g2'];
const SLOTS = [0, 1, 2, 3, 4, 5, 6].map((slot) => `slot${slot}`);
const WIC_SLOTS = ['wic0', 'wic1', 'wic2'];

const image = [
  ['c7200.bin', '/opt/ios/c7200 (1).bin'],
  ['', 'a"b', 'a\nb', null, ...NO_TEXTS],
] as const;
const ADDRESSES = ['ca01.0c4f.0000', 'CA01.0C4F.0000'];
const NO_ADDRESSES = ['ca:01:0c:4f:00:00', 'ca01.0c4f', 'ca01.0c4f.0000\n', 5, {}];

/** The keys that nodes and templates have alike. */
const COMMON: Table = {
  auto_delete_disks: BOOLEAN,
  chassis: [
    ['2610', '2651XM', '3640'],
    ['', 'c3640', '36400', '2651xm', null, 3640, HUGE],
  ],
  disk0: range(0, 65_536),
  disk1: range(0, 65_536),
  exec_area: range(1, 1_000_000),
  idlemax: range(0, 1_000_000),
  idlepc: [
    ['', '0x60608040'],
    ['60608040', '0x', '0xg', null, 5, HUGE],
  ],
  idlesleep: range(0, 1_000_000),
  image,
  iomem: range(0, 100),
  midplane: choice('std', 'vxr'),
  mmap: BOOLEAN,
  npe: choice(...NPES),
  nvram: range(1, 65_536),
  platform: choice(...PLATFORMS),
  ram: range(1, 65_536),
  sparsemem: BOOLEAN,
  system_id: [['FTX0945W0MY'], ['', 'a b', 'a"b', 'a\nb', null, ...NO_TEXTS]],
  usage: TEXT,
};

const made = (platform: string, more: Json = {}): Json =>
  dynamips.create({ platform, image: 'ios.bin', ram: 128, ...more }, NODE_ID);

function cardsOf(properties: Json): Json {
  return Object.fromEntries(Object.entries(properties).filter(([key]) => /^(slot|wic)/.test(key)));
}

void t.test('every key of the schema is taken or refused on purpose', (t) => {
  const card = [
    ['', 'PA-A1', null],
    [5, true, {}, HUGE],
  ] as const;
  checkTable(t, dynamips.properties, {
    ...COMMON,
    ...Object.fromEntries([...SLOTS, ...WIC_SLOTS].map((key) => [key, card])),
    aux: range(1, 65_535, null),
    clock_divisor: range(1, 1_000_000),
    dynamips_id: range(1, 4096, null),
    image_md5sum: [['', 'c'.repeat(32), null], NO_TEXTS],
    mac_addr: [
      [...ADDRESSES, null],
      ['', ...NO_ADDRESSES],
    ],
    power_supplies: [
      [
        [1, 1],
        [0, 1],
      ],
      [null, [], [1], [1, 1, 1], [2, 1], ['1', '1']],
    ],
    sensors: [
      [
        [22, 22, 22, 22],
        [-100, 1000, 0, 0],
      ],
      [null, [], [22], [1001, 0, 0, 0], ['x', 0, 0, 0]],
    ],
  });
  for (const key of ['name', 'slot7', 'wic3', 'ghost', 'startup_config_content']) {
    t.notOk(dynamips.properties.safeParse({ [key]: 'x' }).success, key);
  }
  const config = { startup_config_content: 'hostname %h', private_config_content: null };
  t.ok(dynamips.creation?.schema.safeParse(config).success);
  t.notOk(dynamips.creation?.schema.safeParse({ startup_config: 'x' }).success);
  t.end();
});

void t.test('every setting of a template is taken or refused on purpose', (t) => {
  const name = [['x'], ['', null, ...NO_TEXTS]] as const;
  checkTable(t, dynamips.template.settings, {
    ...COMMON,
    ...Object.fromEntries(SLOTS.map((key) => [key, choice(...CARDS, '')])),
    ...Object.fromEntries(WIC_SLOTS.map((key) => [key, choice(...WICS, '')])),
    category: [
      ['router', 'guest', 3],
      ['kitchen', null, {}],
    ],
    console_auto_start: BOOLEAN,
    console_type: choice('telnet', 'none'),
    default_name_format: name,
    mac_addr: [
      ['', ...ADDRESSES],
      [null, ...NO_ADDRESSES],
    ],
    name,
    private_config: TEXT,
    startup_config: TEXT,
    symbol: name,
  });
  t.same(dynamips.template.required, ['platform', 'image']);
  t.end();
});

void t.test('a template has the defaults of its platform', (t) => {
  const { defaults, defaultsFor, faultIn } = dynamips.template;
  t.strictSame(defaults, {
    auto_delete_disks: false,
    category: 'router',
    console_auto_start: false,
    console_type: 'telnet',
    default_name_format: 'R{0}',
    disk0: 0,
    disk1: 0,
    exec_area: 64,
    idlemax: 500,
    idlepc: '',
    idlesleep: 30,
    mac_addr: '',
    mmap: true,
    private_config: '',
    startup_config: 'ios_base_startup-config.txt',
    symbol: ':/symbols/router.svg',
    system_id: 'FTX0945W0MY',
    usage: '',
  });
  const expected: Record<string, Json> = {
    c1700: { chassis: '1760', iomem: 15, nvram: 128, ram: 160, sparsemem: false },
    c2600: { chassis: '2651XM', iomem: 15, nvram: 128, ram: 160, sparsemem: true },
    c2691: { iomem: 5, nvram: 256, ram: 192, sparsemem: true },
    c3600: { chassis: '3660', iomem: 5, nvram: 128, ram: 192, sparsemem: true },
    c3725: { iomem: 5, nvram: 256, ram: 128, sparsemem: true },
    c3745: { iomem: 5, nvram: 256, ram: 256, sparsemem: true },
    c7200: { midplane: 'vxr', npe: 'npe-400', nvram: 512, ram: 512, sparsemem: true },
  };
  for (const platform of PLATFORMS) {
    t.strictSame(defaultsFor?.({ platform }), expected[platform], platform);
    const complete = { ...defaults, platform, image: 'ios.bin', ...expected[platform] };
    t.ok(dynamips.template.settings.safeParse(complete).success);
    t.equal(faultIn?.(complete), undefined);
  }
  t.equal(faultIn?.({ platform: 'c7200', chassis: '3640' }), 'c7200 routers do not have chassis');
  t.equal(faultIn?.({ platform: 'c3745', npe: 'npe-400' }), 'c3745 routers do not have npe');
  t.equal(faultIn?.({ platform: 'c3600', chassis: '2610' }), 'c3600 routers do not have the chassis 2610');
  t.equal(faultIn?.({}), undefined);
  t.end();
});

void t.test('a new router has the defaults of its platform', (t) => {
  t.strictSame(made('c7200'), {
    auto_delete_disks: false,
    aux: null,
    clock_divisor: 4,
    disk0: 64,
    disk1: 0,
    dynamips_id: null,
    exec_area: 64,
    idlemax: 500,
    idlepc: '',
    idlesleep: 30,
    image: 'ios.bin',
    image_md5sum: null,
    mac_addr: 'caf0.324e.0000',
    midplane: 'vxr',
    mmap: true,
    npe: 'npe-400',
    nvram: 128,
    platform: 'c7200',
    power_supplies: [1, 1],
    ram: 128,
    sensors: [22, 22, 22, 22],
    slot0: 'C7200-IO-FE',
    slot1: null,
    slot2: null,
    slot3: null,
    slot4: null,
    slot5: null,
    slot6: null,
    sparsemem: true,
    system_id: 'FTX0945W0MY',
    usage: '',
  });
  t.hasStrict(made('c3745'), { clock_divisor: 8, disk0: 16, iomem: 5, nvram: 304 });
  t.hasStrict(made('c3725'), { disk0: 16, nvram: 112 });
  t.hasStrict(made('c2691'), { disk0: 16, nvram: 112 });
  t.hasStrict(made('c3600'), { chassis: '3640', clock_divisor: 4, iomem: 5, nvram: 128 });
  t.hasStrict(made('c2600'), { chassis: '2610', iomem: 15, nvram: 128, sparsemem: false });
  t.hasStrict(made('c1700'), { chassis: '1720', iomem: 15, nvram: 32, sparsemem: false });
  for (const platform of PLATFORMS) {
    const router = made(platform);
    const { mac_addr, ...sent } = router;
    t.ok(dynamips.properties.safeParse(sent).success, 'what was read can be sent back');
    t.strictSame(dynamips.update(router, sent, true), router);
    for (const key of Object.keys(router)) t.ok(key in dynamips.shownProperties, key);
  }
  for (const [given, missing] of [
    [{ image: 'a', ram: 1 }, 'platform'],
    [{ platform: 'c7200', ram: 1 }, 'image'],
    [{ platform: 'c7200', image: 'a' }, 'ram'],
  ] as const) {
    t.throws(() => dynamips.create(given, NODE_ID), {
      status: 400,
      message: new RegExp(`${missing} is required`),
    });
  }
  t.throws(() => made('c9999'), { status: 400, message: /c9999 is no platform/ });
  t.end();
});

void t.test('each platform and chassis has its slots', (t) => {
  const slots = (count: number, first: string | null, more: Json = {}): Json => ({
    ...Object.fromEntries(SLOTS.slice(0, count).map((key) => [key, null])),
    ...(first === null ? {} : { slot0: first }),
    ...more,
  });
  const wics = (count: number): Json =>
    Object.fromEntries(WIC_SLOTS.slice(0, count).map((key) => [key, null]));
  for (const [platform, more, expected] of [
    ['c7200', { npe: 'npe-g2' }, slots(7, 'C7200-IO-GE-E')],
    ['c3745', {}, slots(5, 'GT96100-FE', wics(3))],
    ['c3725', {}, slots(3, 'GT96100-FE', wics(3))],
    ['c2691', {}, slots(2, 'GT96100-FE', wics(3))],
    ['c3600', { chassis: '3620' }, slots(2, null)],
    ['c3600', { chassis: '3640' }, slots(4, null)],
    ['c3600', { chassis: '3660' }, slots(7, 'Leopard-2FE')],
    ['c2600', { chassis: '2610' }, slots(2, 'C2600-MB-1E', wics(3))],
    ['c2600', { chassis: '2611' }, slots(2, 'C2600-MB-2E', wics(3))],
    ['c2600', { chassis: '2620' }, slots(2, 'C2600-MB-1FE', wics(3))],
    ['c2600', { chassis: '2621' }, slots(2, 'C2600-MB-2FE', wics(3))],
    ['c2600', { chassis: '2610XM' }, slots(2, 'C2600-MB-1FE', wics(3))],
    ['c2600', { chassis: '2611XM' }, slots(2, 'C2600-MB-2FE', wics(3))],
    ['c2600', { chassis: '2620XM' }, slots(2, 'C2600-MB-1FE', wics(3))],
    ['c2600', { chassis: '2621XM' }, slots(2, 'C2600-MB-2FE', wics(3))],
    ['c2600', { chassis: '2650XM' }, slots(2, 'C2600-MB-1FE', wics(3))],
    ['c2600', { chassis: '2651XM' }, slots(2, 'C2600-MB-2FE', wics(3))],
    ['c1700', { chassis: '1720' }, slots(1, 'C1700-MB-1FE', wics(2))],
    ['c1700', { chassis: '1721' }, slots(1, 'C1700-MB-1FE', wics(2))],
    ['c1700', { chassis: '1750' }, slots(1, 'C1700-MB-1FE', wics(2))],
    ['c1700', { chassis: '1751' }, slots(2, 'C1700-MB-1FE', { slot1: 'C1700-MB-WIC1', ...wics(2) })],
    ['c1700', { chassis: '1760' }, slots(2, 'C1700-MB-1FE', { slot1: 'C1700-MB-WIC1', ...wics(2) })],
  ] as const) {
    t.strictSame(cardsOf(made(platform, more)), expected, `${platform} ${JSON.stringify(more)}`);
  }
  t.end();
});

void t.test('cards must fit', (t) => {
  for (const [platform, more, message] of [
    ['c7200', { slot1: 'NM-4T' }, 'NM-4T does not fit into slot1'],
    ['c7200', { slot0: 'PA-GE' }, 'PA-GE does not fit into slot0'],
    ['c7200', { slot1: 'no such card' }, 'no such card does not fit into slot1'],
    ['c7200', { wic0: 'WIC-1T' }, 'There is no wic0 for WIC-1T'],
    ['c3725', { slot3: 'NM-4T' }, 'There is no slot3 for NM-4T'],
    ['c3745', { slot1: 'NM-4E' }, 'NM-4E does not fit into slot1'],
    ['c3745', { wic0: 'WIC-1ENET' }, 'WIC-1ENET does not fit into wic0'],
    ['c1700', { slot1: 'C1700-MB-WIC1' }, 'There is no slot1 for C1700-MB-WIC1'],
    ['c2600', { slot0: 'C2600-MB-2FE' }, 'C2600-MB-2FE does not fit into slot0'],
    ['c7200', { chassis: '3640' }, 'c7200 routers do not have chassis'],
    ['c7200', { iomem: 5 }, 'c7200 routers do not have iomem'],
    ['c3600', { sensors: [1, 1, 1, 1] }, 'c3600 routers do not have sensors'],
    ['c1700', { chassis: '1710' }, 'c1700 routers do not have the chassis 1710'],
  ] as const) {
    t.throws(() => made(platform, more), { status: 409, message });
    t.throws(() => dynamips.update(made(platform), more, false), { status: 409, message });
  }
  t.hasStrict(made('c1700', { wic1: 'WIC-1ENET' }), { wic1: 'WIC-1ENET' });
  t.hasStrict(made('c3600', { slot0: 'NM-4E', slot3: 'NM-16ESW' }), { slot0: 'NM-4E', slot3: 'NM-16ESW' });
  t.hasStrict(made('c7200', { slot5: '', slot6: null, wic0: '' }), { slot5: null, slot6: null });
  t.end();
});

void t.test('cards are put in and taken out', (t) => {
  const router = made('c7200', { slot1: 'PA-A1', slot2: 'PA-8T' });
  t.strictSame(dynamips.update(router, { slot1: null, slot3: 'PA-GE' }, true), {
    ...router,
    slot1: null,
    slot3: 'PA-GE',
  });
  t.strictSame(dynamips.update(router, { slot2: '' }, true), { ...router, slot2: null });
  t.equal(dynamips.update(router, { slot0: null }, true)['slot0'], 'C7200-IO-FE', 'the main board stays');
  t.equal(dynamips.update(router, { slot0: 'C7200-IO-2FE' }, true)['slot0'], 'C7200-IO-2FE');
  t.end();
});

void t.test('another chassis has other slots; the cards that fit stay', (t) => {
  const router = made('c3600', { slot0: 'NM-1E', slot1: 'NM-4T', slot3: 'NM-4E' });
  const small = dynamips.update(router, { chassis: '3620' }, false);
  t.strictSame(cardsOf(small), { slot0: 'NM-1E', slot1: 'NM-4T' });
  const large = dynamips.update(router, { chassis: '3660' }, false);
  t.hasStrict(large, { slot0: 'Leopard-2FE', slot1: 'NM-4T', slot3: 'NM-4E', slot6: null });
  const pizza = dynamips.update(made('c2600'), { chassis: '2651XM' }, false);
  t.hasStrict(pizza, { slot0: 'C2600-MB-2FE' });
  t.end();
});

void t.test('the identity of a router stays', (t) => {
  const router = { ...made('c7200'), dynamips_id: 5, image_md5sum: 'x' };
  for (const [key, value] of [
    ['platform', 'c3745'],
    ['dynamips_id', 6],
  ] as const) {
    const message = `The ${key} of a Dynamips router cannot be changed`;
    t.throws(() => dynamips.update(router, { [key]: value }, false), { status: 409, message });
  }
  t.strictSame(
    dynamips.update(router, { image_md5sum: 'other', mac_addr: null, dynamips_id: 5 }, false),
    router,
  );
  t.hasStrict(dynamips.update(router, { image: 'new.bin' }, false), { image: 'new.bin', image_md5sum: null });
  t.same(dynamips.uniqueProperties, ['aux', 'dynamips_id', 'mac_addr']);
  const strange = { platform: 'vax', slot1: 'x' };
  t.strictSame(dynamips.update(strange, { ram: 5 }, false), { ...strange, ram: 5 });
  t.end();
});

void t.test('each card has its ports', (t) => {
  const serial = { 'Frame Relay': 'DLT_FRELAY', 'Cisco HDLC': 'DLT_C_HDLC', 'Cisco PPP': 'DLT_PPP_SERIAL' };
  const ethernet = { Ethernet: 'DLT_EN10MB' };
  const expected: Record<string, readonly [number, string, string, object]> = {
    'C1700-MB-1FE': [1, 'FastEthernet', 'f', ethernet],
    'C1700-MB-WIC1': [0, '', '', {}],
    'C2600-MB-1E': [1, 'Ethernet', 'e', ethernet],
    'C2600-MB-1FE': [1, 'FastEthernet', 'f', ethernet],
    'C2600-MB-2E': [2, 'Ethernet', 'e', ethernet],
    'C2600-MB-2FE': [2, 'FastEthernet', 'f', ethernet],
    'C7200-IO-2FE': [2, 'FastEthernet', 'f', ethernet],
    'C7200-IO-FE': [1, 'FastEthernet', 'f', ethernet],
    'C7200-IO-GE-E': [1, 'GigabitEthernet', 'g', ethernet],
    'GT96100-FE': [2, 'FastEthernet', 'f', ethernet],
    'Leopard-2FE': [2, 'FastEthernet', 'f', ethernet],
    'NM-16ESW': [16, 'FastEthernet', 'f', ethernet],
    'NM-1E': [1, 'Ethernet', 'e', ethernet],
    'NM-1FE-TX': [1, 'FastEthernet', 'f', ethernet],
    'NM-4E': [4, 'Ethernet', 'e', ethernet],
    'NM-4T': [4, 'Serial', 's', serial],
    'PA-2FE-TX': [2, 'FastEthernet', 'f', ethernet],
    'PA-4E': [4, 'Ethernet', 'e', ethernet],
    'PA-4T+': [4, 'Serial', 's', serial],
    'PA-8E': [8, 'Ethernet', 'e', ethernet],
    'PA-8T': [8, 'Serial', 's', serial],
    'PA-A1': [1, 'ATM', 'a', { ATM: 'DLT_ATM_RFC1483' }],
    'PA-FE-TX': [1, 'FastEthernet', 'f', ethernet],
    'PA-GE': [1, 'GigabitEthernet', 'g', ethernet],
    'PA-POS-OC3': [1, 'POS', 'p', {}],
  };
  t.same(Object.keys(expected).sort(), CARDS.toSorted());
  for (const [card, [count, long, short, types]] of Object.entries(expected)) {
    const ports = Array.from({ length: count }, (_, port) => ({
      adapter_number: 3,
      data_link_types: types,
      link_type: ['e', 'f', 'g'].includes(short) ? 'ethernet' : 'serial',
      name: `${long}3/${port}`,
      port_number: port,
      short_name: `${short}3/${port}`,
    }));
    t.strictSame(dynamips.ports(portOwnerOf({ slot3: card })), ports, card);
  }
  t.end();
});

void t.test('slots come in their order, then interface cards, which are named one after the other', (t) => {
  const properties = {
    wic0: 'WIC-2T',
    wic2: 'WIC-1T',
    wic1: null,
    slot0: 'GT96100-FE',
    slot1: '',
    slot2: 'NM-1FE-TX',
  };
  const shown = dynamips
    .ports(portOwnerOf(properties))
    .map((port) => `${port.adapter_number}/${port.port_number} ${port.name} ${port.short_name}`);
  t.same(shown, [
    '0/0 FastEthernet0/0 f0/0',
    '0/1 FastEthernet0/1 f0/1',
    '2/0 FastEthernet2/0 f2/0',
    '0/16 Serial0/0 s0/0',
    '0/17 Serial0/1 s0/1',
    '0/48 Serial0/2 s0/2',
  ]);
  t.same(
    dynamips.ports(portOwnerOf({ wic1: 'WIC-1ENET' })).map((port) => [port.name, port.port_number]),
    [['Ethernet0/0', 32]],
  );
  t.same(
    dynamips.ports(portOwnerOf({ slot0: 5, slot1: {}, slot2: 'none', wic0: 'constructor', slot9: 'PA-A1' })),
    [],
  );
  t.end();
});
