import t from 'tap';
import { z } from 'zod';
import { vpcs } from '../../../src/lab/kinds/vpcs.js';
import { NODE_ID, portOwnerOf } from '../../support/port-owners.js';

void t.test('a virtual PC has no properties', (t) => {
  t.same(vpcs.create({}, NODE_ID), {});
  t.same(vpcs.properties.parse({}), {});
  for (const key of ['startup_script', 'base_script_file', 'ram', '__proto__', 'constructor']) {
    t.notOk(vpcs.properties.safeParse(JSON.parse(`{"${key}": "x"}`)).success, key);
  }
  const current = { base_script_file: 'of an older file' };
  t.equal(vpcs.update(current, {}, true), current);
  t.end();
});

void t.test('its one port is that of the reference, whatever the node is set to', (t) => {
  const port = {
    adapter_number: 0,
    data_link_types: { Ethernet: 'DLT_EN10MB' },
    link_type: 'ethernet',
    name: 'Ethernet0',
    port_number: 0,
    short_name: 'e0',
  };
  t.strictSame(vpcs.ports(portOwnerOf({})), [port]);
  const custom = [{ adapter_number: 0, port_name: 'up', mac_address: '00:00:00:00:00:01' }];
  const owner = portOwnerOf({ adapters: 9 }, { portNameFormat: '{', customAdapters: custom });
  t.strictSame(vpcs.ports(owner), [port]);
  t.end();
});

void t.test('its console is telnet unless a client wants none', (t) => {
  t.same(vpcs.consoleTypes, ['telnet', 'none']);
  t.equal(vpcs.alwaysRuns, false);
  t.equal(vpcs.keepsContentElsewhere, false);
  t.same(vpcs.imageProperties, []);
  t.end();
});

void t.test('a script is given when a PC is created, and by the template as a file', (t) => {
  const schema = vpcs.creation?.schema ?? z.never();
  for (const startup_script of ['', 'set pcname %h\n', null, 'x'.repeat(1_000_000)]) {
    t.ok(schema.safeParse({ startup_script }).success);
  }
  t.ok(schema.safeParse({}).success);
  for (const given of [{ startup_script: 3 }, { startup_script: 'x'.repeat(1_048_577) }, { script: 'x' }]) {
    t.notOk(schema.safeParse(given).success);
  }
  t.same(vpcs.creation?.files, { base_script_file: 'startup_script' });
  t.end();
});

void t.test('a template has the settings and the defaults of the reference', (t) => {
  const { settings, defaults } = vpcs.template;
  t.strictSame(defaults, {
    base_script_file: 'vpcs_base_config.txt',
    category: 'guest',
    console_auto_start: false,
    console_type: 'telnet',
    default_name_format: 'PC{0}',
    symbol: ':/symbols/vpcs_guest.svg',
  });
  t.ok(settings.safeParse(defaults).success);
  t.ok(settings.safeParse({ properties: { base_script_file: 'mine.txt' } }).success);
  for (const given of [
    { base_script_file: '' },
    { base_script_file: 'x'.repeat(4097) },
    { console_type: 'vnc' },
    { console_auto_start: 'yes' },
    { properties: { ram: 5 } },
    { startup_script: 'x' },
    { category: 'kitchen' },
  ]) {
    t.notOk(settings.safeParse(given).success, JSON.stringify(given).slice(0, 60));
  }
  t.end();
});

void t.test('a name with a line break begins no other command in the script', (t) => {
  t.same(vpcs.firstFiles('a\nquit', { startup_script: 'set pcname %h\n' }, {}), {
    'startup.vpc': 'set pcname aquit\n',
  });
  t.end();
});
