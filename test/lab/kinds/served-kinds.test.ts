import t from 'tap';
import { SERVED_KINDS, servedKind } from '../../../src/lab/kinds/served-kinds.js';
import { NODE_TYPES } from '../../../src/lab/gns3-file/topology-schema.js';

void t.test('every served kind is found by its type, and no other', (t) => {
  for (const kind of SERVED_KINDS) t.equal(servedKind(kind.type), kind);
  const served = SERVED_KINDS.map((kind) => kind.type);
  t.same(served.toSorted(), ['atm_switch', 'ethernet_hub', 'ethernet_switch', 'frame_relay_switch']);
  for (const type of NODE_TYPES) t.equal(servedKind(type) !== undefined, served.includes(type), type);
  for (const type of ['', 'constructor', 'ATM_SWITCH']) t.equal(servedKind(type), undefined);
  t.end();
});

void t.test('a new node of every kind can be made of nothing, and its properties are accepted again', (t) => {
  for (const kind of SERVED_KINDS) {
    const properties = kind.create(kind.properties.parse({}));
    t.ok(kind.properties.safeParse(properties).success, kind.type);
    t.same(kind.update(properties, kind.properties.parse(properties), true), properties);
    t.same(kind.ports({}), []);
  }
  t.end();
});
