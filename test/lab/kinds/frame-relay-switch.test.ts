import t from 'tap';
import { frameRelaySwitch } from '../../../src/lab/kinds/frame-relay-switch.js';
import { portOwnerOf } from '../../support/port-owners.js';

type Mappings = Readonly<Record<string, unknown>>;
const isAccepted = (mappings: Mappings): boolean =>
  frameRelaySwitch.properties.safeParse({ mappings }).success;

void t.test('DLCIs from 1 to 1022 are accepted, and nothing else', (t) => {
  for (const good of [{}, { '1:1': '2:1022' }, { '0:101': '65535:202' }]) t.ok(isAccepted(good));
  const bad: readonly Mappings[] = [
    { '1:0': '2:1' },
    { '1:1': '2:1023' },
    { '1:1:1': '2:1:1' },
    { '1': '2' },
    { '65536:1': '2:1' },
    { 'x:1': '2:1' },
    { '1:1': 5 },
    { '1:-1': '2:1' },
  ];
  for (const mappings of bad) t.notOk(isAccepted(mappings), JSON.stringify(mappings));
  t.end();
});

void t.test('an input has one output, in both directions', (t) => {
  const mappings = { '1:101': '2:202', '3:303': '1:101' };
  t.throws(() => frameRelaySwitch.create({ mappings }), /already mapped/);
  t.throws(() => frameRelaySwitch.update({}, { mappings }, false), /already mapped/);
  t.same(frameRelaySwitch.create({}), { mappings: {} });
  t.end();
});

void t.test('an update replaces the mappings, and leaves what it does not name', (t) => {
  const current = { mappings: { '1:1': '2:2' } };
  t.same(frameRelaySwitch.update(current, { mappings: { '3:3': '4:4' } }, true), {
    mappings: { '3:3': '4:4' },
  });
  t.same(frameRelaySwitch.update(current, {}, true), current);
  t.end();
});

void t.test('its ports are serial ports for Frame Relay', (t) => {
  t.match(frameRelaySwitch.ports(portOwnerOf({ mappings: { '10:1': '2:1' } })), [
    { port_number: 2, link_type: 'serial', data_link_types: { 'Frame Relay': 'DLT_FRELAY' } },
    { port_number: 10, name: '10', short_name: '10' },
  ]);
  t.end();
});
