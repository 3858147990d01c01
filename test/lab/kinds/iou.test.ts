import t from 'tap';
import { iou } from '../../../src/lab/kinds/iou.js';
import {
  BOOLEAN,
  checkTable,
  choice,
  NO_TEXTS,
  NULLABLE_BOOLEAN,
  range,
  TEXT,
} from '../../support/kind-tables.js';
import { NODE_ID, portOwnerOf } from '../../support/port-owners.js';

const NEW = {
  application_id: null,
  ethernet_adapters: 2,
  l1_keepalives: false,
  md5sum: null,
  nvram: 256,
  path: 'l3.bin',
  ram: 1024,
  serial_adapters: 2,
  usage: '',
  use_default_iou_values: false,
};
const NAMING = { portNameFormat: 'Ethernet{segment0}/{port0}', portSegmentSize: 4 };
const path = [['l3.bin'], ['', null, ...NO_TEXTS]] as const;

void t.test('every key of the schema is taken or refused on purpose', (t) => {
  checkTable(t, iou.properties, {
    application_id: range(1, 511, null),
    ethernet_adapters: range(0, 16),
    l1_keepalives: NULLABLE_BOOLEAN,
    md5sum: [['', 'c'.repeat(32), null], NO_TEXTS],
    nvram: range(1, 65_536, null),
    path,
    ram: range(1, 65_536, null),
    serial_adapters: range(0, 16),
    usage: TEXT,
    use_default_iou_values: NULLABLE_BOOLEAN,
  });
  const config = { startup_config_content: 'hostname %h', private_config_content: null };
  t.ok(iou.creation?.schema.safeParse(config).success);
  t.same(iou.creation?.files, {
    startup_config: 'startup_config_content',
    private_config: 'private_config_content',
  });
  for (const key of ['name', 'startup_config_content', 'command_line']) {
    t.notOk(iou.properties.safeParse({ [key]: 'x' }).success, key);
  }
  t.end();
});

void t.test('every setting of a template is taken or refused on purpose', (t) => {
  const name = [['x'], ['', null, ...NO_TEXTS]] as const;
  checkTable(t, iou.template.settings, {
    category: [
      ['router', 'guest', 3],
      ['kitchen', null, {}],
    ],
    console_auto_start: BOOLEAN,
    console_type: choice('telnet', 'none'),
    default_name_format: name,
    ethernet_adapters: range(0, 16),
    l1_keepalives: BOOLEAN,
    name,
    nvram: range(1, 65_536),
    path,
    private_config: TEXT,
    ram: range(1, 65_536),
    serial_adapters: range(0, 16),
    startup_config: TEXT,
    symbol: name,
    usage: TEXT,
    use_default_iou_values: BOOLEAN,
  });
  t.strictSame(iou.template.defaults, {
    category: 'router',
    console_auto_start: false,
    console_type: 'telnet',
    default_name_format: 'IOU{0}',
    ethernet_adapters: 2,
    l1_keepalives: false,
    nvram: 256,
    private_config: '',
    ram: 1024,
    serial_adapters: 2,
    startup_config: 'iou_l3_base_startup-config.txt',
    symbol: ':/symbols/multilayer_switch.svg',
    usage: '',
    use_default_iou_values: false,
  });
  t.same(iou.template.required, ['path']);
  t.match(iou.template.faultIn?.({ ethernet_adapters: 9, serial_adapters: 8 }), /16 adapters/);
  t.equal(iou.template.faultIn?.(iou.template.defaults), undefined);
  t.end();
});

void t.test('a new node has the defaults of GNS3', (t) => {
  t.strictSame(iou.create({ path: 'l3.bin' }, NODE_ID), NEW);
  t.strictSame(iou.create({ ...NEW, ram: null, md5sum: 'x' }, NODE_ID), NEW);
  t.ok(iou.properties.safeParse(NEW).success, 'what was read can be sent back');
  t.same(Object.keys(iou.shownProperties).sort(), Object.keys(NEW));
  t.throws(() => iou.create({}, NODE_ID), { status: 400, message: /path is required/ });
  t.same(iou.uniqueProperties, ['application_id']);
  t.end();
});

void t.test('a node has 16 adapters at most', (t) => {
  const full = { ...NEW, ethernet_adapters: 16, serial_adapters: 0 };
  t.strictSame(iou.create(full, NODE_ID), full);
  const conflict = { status: 409, message: /16 adapters/ };
  t.throws(() => iou.create({ ...full, serial_adapters: 1 }, NODE_ID), conflict);
  t.throws(() => iou.update(NEW, { ethernet_adapters: 15 }, false), conflict);
  t.end();
});

void t.test('a change keeps the rest, and forgets the digest of another image', (t) => {
  const current = { ...NEW, md5sum: 'x', application_id: 5 };
  t.strictSame(iou.update(current, {}, true), current);
  t.strictSame(iou.update(current, { md5sum: 'y', application_id: null }, true), current);
  t.strictSame(iou.update(current, { path: 'l2.bin' }, true), { ...current, path: 'l2.bin', md5sum: null });
  t.end();
});

void t.test('four ports an adapter, first Ethernet and then serial', (t) => {
  const shown = (more: object, naming: object = NAMING): string[] =>
    iou
      .ports(portOwnerOf({ ...NEW, ...more }, naming))
      .map(
        (port) =>
          `${port.adapter_number}/${port.port_number} ${port.name} ${port.short_name} ${port.link_type}`,
      );
  t.same(shown({}), [
    '0/0 Ethernet0/0 e0/0 ethernet',
    '0/1 Ethernet0/1 e0/1 ethernet',
    '0/2 Ethernet0/2 e0/2 ethernet',
    '0/3 Ethernet0/3 e0/3 ethernet',
    '1/0 Ethernet1/0 e1/0 ethernet',
    '1/1 Ethernet1/1 e1/1 ethernet',
    '1/2 Ethernet1/2 e1/2 ethernet',
    '1/3 Ethernet1/3 e1/3 ethernet',
    '2/0 Serial2/0 s2/0 serial',
    '2/1 Serial2/1 s2/1 serial',
    '2/2 Serial2/2 s2/2 serial',
    '2/3 Serial2/3 s2/3 serial',
    '3/0 Serial3/0 s3/0 serial',
    '3/1 Serial3/1 s3/1 serial',
    '3/2 Serial3/2 s3/2 serial',
    '3/3 Serial3/3 s3/3 serial',
  ]);
  t.same(shown({ ethernet_adapters: 0, serial_adapters: 1 }), [
    '0/0 Serial0/0 s0/0 serial',
    '0/1 Serial0/1 s0/1 serial',
    '0/2 Serial0/2 s0/2 serial',
    '0/3 Serial0/3 s0/3 serial',
  ]);
  t.equal(shown({}, { portNameFormat: '{' }).length, 16);
  for (const count of [-1, 1e9, '5', null, {}]) {
    t.ok(shown({ ethernet_adapters: count, serial_adapters: count }).length <= 64);
  }
  const [first, , , , , , , , serial] = iou.ports(portOwnerOf(NEW, NAMING));
  t.strictSame(first?.data_link_types, { Ethernet: 'DLT_EN10MB' });
  t.strictSame(serial?.data_link_types, {
    'Cisco HDLC': 'DLT_C_HDLC',
    'Cisco PPP': 'DLT_PPP_SERIAL',
    'Frame Relay': 'DLT_FRELAY',
  });
  t.notOk(first !== undefined && ('mac_address' in first || 'adapter_type' in first));
  t.same(iou.portNaming, { format: NAMING.portNameFormat, segmentSize: 4 });
  t.throws(() => iou.checkPorts?.(portOwnerOf(NEW, { portNameFormat: '{9}' })), {
    status: 409,
    message: 'Invalid port name format {9}: Replacement index 9 out of range for positional args tuple',
  });
  t.end();
});
