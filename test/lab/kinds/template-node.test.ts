import t from 'tap';
import { dynamips } from '../../../src/lab/kinds/dynamips.js';
import { docker } from '../../../src/lab/kinds/docker.js';
import { iou } from '../../../src/lab/kinds/iou.js';
import { nodeOfTemplate } from '../../../src/lab/kinds/template-node.js';
import { qemu } from '../../../src/lab/kinds/qemu.js';
import { vpcs } from '../../../src/lab/kinds/vpcs.js';
import { NODE_ID } from '../../support/port-owners.js';

void t.test('the script of a virtual PC is given once, also by the built-in template', (t) => {
  const inputs = { base_script_file: 'vpcs_base_config.txt' };
  const settings = { console_auto_start: false, console_type: 'telnet' };
  t.strictSame(nodeOfTemplate(vpcs, { name: 'PC', ...vpcs.template.defaults }), {
    ...settings,
    inputs,
    properties: {},
  });
  const builtin = vpcs.builtinTemplate?.template;
  t.strictSame(builtin === undefined ? undefined : nodeOfTemplate(vpcs, builtin), { inputs, properties: {} });
  t.end();
});

void t.test('the settings of a template go where they belong; empty ones are left to the kind', (t) => {
  const machine = nodeOfTemplate(qemu, {
    ...qemu.template.defaults,
    first_port_name: 'mgmt',
    ram: 512,
    custom_adapters: [{ adapter_number: 0, port_name: 'wan' }],
  });
  const { properties, ...rest } = machine;
  t.strictSame(rest, {
    console_auto_start: false,
    console_type: 'telnet',
    custom_adapters: [{ adapter_number: 0, port_name: 'wan' }],
    first_port_name: 'mgmt',
    inputs: {},
    port_name_format: 'Ethernet{0}',
    port_segment_size: 0,
  });
  t.hasStrict(properties, { ram: 512, linked_clone: true, process_priority: 'normal' });
  t.notOk('mac_address' in properties || 'platform' in properties || 'usage' in properties);
  t.ok(qemu.properties.safeParse(properties).success);
  t.hasStrict(qemu.create(properties, NODE_ID), { mac_address: '0c:f0:32:4e:00:00', linked_clone: true });
  t.end();
});

void t.test('the templates of all kinds make properties that their kind takes', (t) => {
  for (const [kind, more] of [
    [qemu, {}],
    [vpcs, {}],
    [docker, { image: 'alpine' }],
    [iou, { path: 'l3.bin' }],
    [
      dynamips,
      {
        image: 'a',
        platform: 'c7200',
        slot1: '',
        slot2: 'PA-A1',
        ...dynamips.template.defaultsFor?.({ platform: 'c7200' }),
      },
    ],
  ] as const) {
    const { properties, inputs } = nodeOfTemplate(kind, { ...kind.template.defaults, ...more });
    const parsed = kind.properties.safeParse(properties);
    t.ok(parsed.success, kind.type);
    t.ok(kind.create(properties, NODE_ID));
    t.same(
      Object.keys(inputs),
      { iou: ['startup_config'], dynamips: ['startup_config'], vpcs: ['base_script_file'] }[
        kind.type as string
      ] ?? [],
    );
  }
  t.end();
});

void t.test('a template of another time does no harm', (t) => {
  const strange = {
    name: 'x',
    console_type: 'fax',
    custom_adapters: 5,
    port_segment_size: -1,
    properties: 7,
  };
  const made = nodeOfTemplate(vpcs, strange);
  t.strictSame(JSON.parse(JSON.stringify(made)), { inputs: {}, properties: {} });
  t.end();
});
