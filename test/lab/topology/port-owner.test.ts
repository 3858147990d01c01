import t from 'tap';
import { iou } from '../../../src/lab/kinds/iou.js';
import { hasSamePorts, portOwnerOf } from '../../../src/lab/topology/port-owner.js';
import { idOf, storedNodeOf } from '../../support/stored-objects.js';

void t.test('a node of an older file has the names of its kind', (t) => {
  const owner = { nodeId: idOf(1), properties: {}, firstPortName: null, customAdapters: [] };
  const node = storedNodeOf(1);
  t.strictSame(portOwnerOf(node, undefined), { ...owner, portNameFormat: 'Ethernet{0}', portSegmentSize: 0 });
  t.strictSame(portOwnerOf(node, iou), {
    ...owner,
    portNameFormat: 'Ethernet{segment0}/{port0}',
    portSegmentSize: 4,
  });
  t.end();
});

void t.test('ports are made anew when one of their settings has changed, and only then', (t) => {
  const node = storedNodeOf(1, {
    properties: { adapters: 2 },
    port_name_format: 'e{0}',
    port_segment_size: 2,
    first_port_name: 'mgmt',
    custom_adapters: [],
  });
  const owner = portOwnerOf(node, undefined);
  t.ok(hasSamePorts(owner, portOwnerOf({ ...node, x: 5, name: 'other', locked: true }, undefined)));
  for (const change of [
    { properties: { adapters: 2 } },
    { port_name_format: 'f{0}' },
    { port_segment_size: 3 },
    { first_port_name: null },
    { custom_adapters: [] },
    { node_id: idOf(2) },
  ]) {
    t.notOk(hasSamePorts(owner, portOwnerOf({ ...node, ...change }, undefined)), JSON.stringify(change));
  }
  const plain = storedNodeOf(1);
  t.ok(
    hasSamePorts(portOwnerOf(plain, undefined), portOwnerOf({ ...plain, x: 1 }, undefined)),
    'nothing is set',
  );
  t.end();
});
