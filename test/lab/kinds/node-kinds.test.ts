import t from 'tap';
import {
  CLOUD_KINDS,
  isProgramKind,
  isSwitchKind,
  kindOfType,
  NODE_TYPES,
  PROGRAM_KINDS,
  SERVED_KINDS,
  servedKind,
  SWITCH_KINDS,
} from '../../../src/lab/kinds/node-kinds.js';
import { portOwnerOf } from '../../support/port-owners.js';
import { idOf } from '../../support/stored-objects.js';

void t.test('every served kind is found by its type, and no other', (t) => {
  for (const kind of SERVED_KINDS) t.equal(servedKind(kind.type), kind);
  const served = SERVED_KINDS.map((kind) => kind.type);
  t.same(served.toSorted(), [
    'atm_switch',
    'cloud',
    'docker',
    'dynamips',
    'ethernet_hub',
    'ethernet_switch',
    'frame_relay_switch',
    'iou',
    'nat',
    'qemu',
    'vpcs',
  ]);
  for (const type of NODE_TYPES) t.equal(servedKind(type) !== undefined, served.includes(type), type);
  for (const type of NODE_TYPES) t.equal(kindOfType(type).type, type);
  for (const kind of SERVED_KINDS) {
    t.equal(
      isSwitchKind(kind),
      SWITCH_KINDS.some(({ type }) => type === kind.type),
    );
    t.equal(
      isProgramKind(kind),
      PROGRAM_KINDS.some(({ type }) => type === kind.type),
    );
    const sorts = [isSwitchKind(kind), isProgramKind(kind), CLOUD_KINDS.includes(kind)];
    t.equal(sorts.filter((is) => is).length, 1);
  }
  for (const type of ['', 'constructor', 'ATM_SWITCH']) t.equal(servedKind(type), undefined);
  t.end();
});

/** The properties without which there is no node of a kind. */
const REQUIRED: Readonly<Record<string, object>> = {
  dynamips: { platform: 'c7200', image: 'ios.bin', ram: 256 },
  docker: { image: 'alpine:latest' },
  iou: { path: 'image.bin' },
};

void t.test('a new node of every kind can be made of little, and its properties are accepted again', (t) => {
  for (const kind of SERVED_KINDS) {
    const properties = kind.create(kind.properties.parse(REQUIRED[kind.type] ?? {}), idOf(1));
    t.ok(kind.properties.safeParse(properties).success, kind.type);
    t.same(kind.update(properties, kind.properties.parse(properties), true), properties);
    if (isSwitchKind(kind)) t.same(kind.ports(portOwnerOf({})), []);
  }
  t.end();
});

void t.test('the kinds of the reference are all known, in its order', (t) => {
  t.same(NODE_TYPES, [
    'cloud',
    'nat',
    'ethernet_hub',
    'ethernet_switch',
    'frame_relay_switch',
    'atm_switch',
    'docker',
    'dynamips',
    'vpcs',
    'traceng',
    'virtualbox',
    'vmware',
    'iou',
    'qemu',
  ]);
  t.end();
});
