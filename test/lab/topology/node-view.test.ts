import t from 'tap';
import { defaultLabel, nodeView } from '../../../src/lab/topology/views.js';
import { idOf, storedNodeOf } from '../../support/stored-objects.js';

const KEYS = (
  'command_line compute_id console console_auto_start console_host console_type custom_adapters ' +
  'first_port_name height label locked name node_directory node_id node_type port_name_format ' +
  'port_segment_size ports project_id properties status symbol template_id width x y z'
).split(' ');
const state = { status: 'stopped' as const, commandLine: null, folder: null };
const around = { projectId: idOf(9), consoleHost: '127.0.0.1', state, ports: [] };

void t.test('a node has exactly the 27 keys of the contract, sorted, whatever is stored', (t) => {
  t.equal(KEYS.length, 27);
  t.same(Object.keys(nodeView(storedNodeOf(1), around)), KEYS);
  t.same(Object.keys(nodeView(storedNodeOf(1, { later: 1, status: 'x' }), around)), KEYS);
  t.end();
});

void t.test('values that are not stored have the default of the contract', (t) => {
  t.match(nodeView(storedNodeOf(1), around), {
    console: null,
    console_auto_start: false,
    console_host: '127.0.0.1',
    console_type: null,
    custom_adapters: [],
    first_port_name: null,
    height: 59,
    label: { rotation: 0, style: null, text: 'Hub1', x: null, y: -40 },
    port_name_format: 'Ethernet{0}',
    port_segment_size: 0,
    properties: {},
    symbol: ':/symbols/computer.svg',
    template_id: null,
    width: 65,
    x: 0,
    y: 0,
    z: 1,
  });
  t.end();
});

void t.test('stored values are shown', (t) => {
  const stored = {
    console: 5001,
    console_type: 'telnet' as const,
    label: { text: 'x', x: 1, y: 2 },
    properties: { ram: 5 },
    locked: true,
    width: 1,
    height: 2,
    x: -1,
    y: -2,
    z: 0,
  };
  t.match(nodeView(storedNodeOf(1, stored), around), stored);
  t.end();
});

void t.test('the status is that of what runs, whatever is stored', (t) => {
  for (const status of ['started', 'stopped', 'suspended'] as const)
    t.equal(
      nodeView(storedNodeOf(1, { status: 'x' }), { ...around, state: { ...state, status } }).status,
      status,
    );
  const run = { ...state, commandLine: 'vpcs -i 1', folder: '/projects/a/project-files/vpcs/b' };
  t.match(nodeView(storedNodeOf(1, { command_line: 'x' }), { ...around, state: run }), {
    command_line: run.commandLine,
    node_directory: run.folder,
  });
  t.end();
});

void t.test('the label stands above the symbol, rounded as the reference rounds', (t) => {
  t.same(
    [59, 45, 60, 47, 0, 32].map((height) => defaultLabel('x', height).y),
    [-40, -32, -40, -34, -10, -26],
  );
  t.end();
});
