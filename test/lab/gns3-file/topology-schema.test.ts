import t from 'tap';
import type { z } from 'zod';
import {
  coordinate,
  endpoint,
  label,
  linkStyle,
  projectSettings,
  rotation,
  storedLink,
  storedNode,
  tcpPort,
  uuid,
} from '../../../src/lab/gns3-file/topology-schema.js';
import { customAdapters } from '../../../src/lab/kinds/custom-adapters.js';
import { idOf, storedLinkOf, storedNodeOf } from '../../support/stored-objects.js';

/** Values that each schema takes, and values that it refuses. */
const cases: readonly (readonly [string, z.ZodType, readonly unknown[], readonly unknown[]])[] = [
  ['uuid', uuid, [idOf(1), 'ABCDEFab-0000-0000-0000-000000000000'], ['', `${idOf(1)}0`, `${idOf(1)}\n`, 5]],
  ['coordinate', coordinate, [0, -1_000_000_000], [1.5, 1_000_000_001, '0', NaN]],
  ['rotation', rotation, [-359, 360], [-360, 361]],
  ['port', tcpPort, [1, 65_535], [0, 65_536]],
  [
    'label',
    label,
    [{ text: '' }, { text: 'a', x: null, y: 1, style: null, rotation: 0 }],
    [{}, { text: 'a', later: 1 }, { text: 'a', y: null }, { text: 1 }],
  ],
  [
    'end of a link',
    endpoint,
    [{ node_id: idOf(1), adapter_number: 0, port_number: 65_535 }],
    [
      { node_id: idOf(1), adapter_number: 0 },
      { node_id: idOf(1), adapter_number: -1, port_number: 0 },
      { node_id: idOf(1), adapter_number: 0, port_number: 0, later: 1 },
    ],
  ],
  [
    'style of a link',
    linkStyle,
    [{}, { color: '#fff', width: 2, type: 1 }, { later: [1] }],
    [{ color: 1 }, { width: '2' }, { width: 1.5 }, { type: null }],
  ],
  [
    'custom adapters',
    customAdapters,
    [[], [{ adapter_number: 1, mac_address: '00:aa:BB:00:00:01' }]],
    [[{}], [{ adapter_number: 1, mac_address: '00:aa' }], [{ adapter_number: 1, later: 1 }]],
  ],
  [
    'node of a file',
    storedNode,
    [storedNodeOf(1), storedNodeOf(1, { console: null, label: null, symbol: null, later: 1 })],
    [storedNodeOf(1, { name: '' }), storedNodeOf(1, { console: 0 }), { node_id: idOf(1) }],
  ],
  ['link of a file', storedLink, [storedLinkOf(1), storedLinkOf(1, 2, 3, 4)], [{ link_id: idOf(1) }]],
];

for (const [name, schema, good, bad] of cases) {
  void t.test(`${name}: takes what the contract allows and nothing else`, (t) => {
    for (const value of good) t.ok(schema.safeParse(value).success, JSON.stringify(value));
    for (const value of bad) t.notOk(schema.safeParse(value).success, JSON.stringify(value));
    t.end();
  });
}

void t.test('the settings of a new project have the defaults of the contract', (t) => {
  t.same(projectSettings.parse({ name: 'lab' }), {
    auto_close: true,
    auto_open: false,
    auto_start: false,
    drawing_grid_size: 25,
    grid_size: 75,
    name: 'lab',
    scene_height: 1000,
    scene_width: 2000,
    show_grid: false,
    show_interface_labels: false,
    show_layers: false,
    snap_to_grid: false,
    supplier: null,
    variables: null,
    zoom: 100,
  });
  t.end();
});
