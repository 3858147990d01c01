import t from 'tap';
import { NEVER_WRITTEN, type LabRecords } from '../../../src/lab/projects/records.js';
import {
  identifyTopology,
  parseTopology,
  renderTopology,
  type Gns3Content,
} from '../../../src/lab/gns3-file/format.js';
import { idOf } from '../../support/stored-objects.js';

const label = { rotation: 0, style: null, text: 'R1', x: null, y: -40 };
const node = {
  compute_id: 'vm',
  console: 5004,
  console_auto_start: false,
  console_type: 'telnet',
  custom_adapters: [],
  first_port_name: null,
  height: 45,
  label,
  locked: false,
  name: 'R1',
  node_id: idOf(1),
  node_type: 'dynamips',
  port_name_format: 'Ethernet{0}',
  port_segment_size: 0,
  properties: { idlepc: '0x60', ram: 512, slot0: 'PA-A1', nested: { b: [1, 2], a: null } },
  symbol: ':/symbols/router.svg',
  template_id: null,
  width: 66,
  x: -3,
  y: 7,
  z: 1,
};
const link = {
  filters: {},
  link_id: idOf(2),
  link_style: {},
  nodes: [
    { adapter_number: 0, label, node_id: idOf(1), port_number: 0 },
    { adapter_number: 0, label, node_id: idOf(9), port_number: 3 },
  ],
  suspend: false,
};
const drawing = { drawing_id: idOf(3), locked: false, rotation: 0, svg: '<svg/>', x: 0, y: 0, z: 2 };
const compute = { compute_id: 'far', host: 'h', name: 'far', port: 3080, protocol: 'http' };

function file(more: Record<string, unknown> = {}, topology: Record<string, unknown> = {}): string {
  return JSON.stringify({
    name: 'lab',
    project_id: idOf(100),
    revision: 9,
    topology: { computes: [], drawings: [], links: [], nodes: [], ...topology },
    type: 'topology',
    version: '2.2.60',
    ...more,
  });
}

function recordsOf(content: Gns3Content): LabRecords {
  const ordered = <T>(objects: readonly T[]): { order: number; object: T }[] =>
    objects.map((object, order) => ({ order, object }));
  const { settings, computes } = content;
  return {
    project: { order: 0, path: '/p', filename: 'p.gns3', settings, computes },
    file: NEVER_WRITTEN,
    version: 0,
    entities: {
      node: ordered(content.nodes),
      link: ordered(content.links),
      drawing: ordered(content.drawings),
      directed: [],
      capture: [],
      lab_file: [],
      visited: [],
    },
  };
}

const again = (text: string): string =>
  renderTopology(parseTopology(text, 'x').projectId, recordsOf(parseTopology(text, 'x')), '2.2.60');

void t.test('a file keeps its content key for key', (t) => {
  const full = { nodes: [node], links: [link], drawings: [drawing], computes: [compute] };
  const text = file({ zoom: 80, variables: [{ name: 'A', value: 'é' }], supplier: { logo: 'l' } }, full);
  const written = JSON.parse(again(text)) as Record<string, unknown>;
  t.strictSame(written['topology'], full);
  t.match(written, { zoom: 80, variables: [{ name: 'A', value: 'é' }], supplier: { logo: 'l' } });
  t.equal(again(again(text)), again(text), 'and the text is the same from then on');
  t.end();
});

void t.test('keys that we do not know are kept', (t) => {
  const topology = {
    nodes: [{ ...node, later: { z: 1, a: [null] }, status: 'stopped', ports: [] }],
    links: [{ ...link, link_type: 'serial', nodes: [{ ...link.nodes[0], later: 1 }] }],
    drawings: [{ ...drawing, later: 'x' }],
  };
  const written = JSON.parse(again(file({}, topology))) as Record<string, unknown>;
  t.strictSame(written['topology'], { computes: [], ...topology });
  t.end();
});

void t.test('keys that are absent stay absent in objects and get the defaults in the head', (t) => {
  const bare = { compute_id: 'local', node_id: idOf(1), node_type: 'vpcs', name: 'PC1' };
  const written = JSON.parse(again(file({}, { nodes: [bare] }))) as { topology: { nodes: unknown[] } };
  t.strictSame(written.topology.nodes, [bare]);
  t.same(Object.keys(written), [
    'auto_close',
    'auto_open',
    'auto_start',
    'drawing_grid_size',
    'grid_size',
    'name',
    'project_id',
    'revision',
    'scene_height',
    'scene_width',
    'show_grid',
    'show_interface_labels',
    'show_layers',
    'snap_to_grid',
    'supplier',
    'topology',
    'type',
    'variables',
    'version',
    'zoom',
  ]);
  t.end();
});

void t.test('the text has four spaces, sorted keys and only ASCII', (t) => {
  const text = again(file({ name: 'é \u{1f600} \u2028' }, { drawings: [{ z: 1, drawing_id: idOf(3) }] }));
  t.match(text, /^\{\n {4}"auto_close": true,\n/);
  t.match(text, `            {\n                "drawing_id": "${idOf(3)}",\n                "z": 1\n`);
  t.match(text, '"name": "\\u00e9 \\ud83d\\ude00 \\u2028"');
  t.match(text, /^[\x20-\x7e\n]*$/);
  t.equal((JSON.parse(text) as { name: string }).name, 'é \u{1f600} \u2028');
  t.end();
});

void t.test('objects are written in the order of the records', (t) => {
  const nodes = [3, 1, 2].map((number) => ({ ...node, node_id: idOf(number), name: `N${number}` }));
  const written = JSON.parse(again(file({}, { nodes }))) as { topology: { nodes: { name: string }[] } };
  t.same(
    written.topology.nodes.map(({ name }) => name),
    ['N3', 'N1', 'N2'],
  );
  t.end();
});

void t.test('a file of a later revision is refused and told why', (t) => {
  t.throws(() => parseTopology(file({ revision: 10, version: '3.1.0' }), 'x'), {
    status: 409,
    message:
      'This project was created with more recent version of GNS3 (file revision: 10). ' +
      'Please upgrade GNS3 to version 3.1.0 or later',
  });
  t.end();
});

void t.test('a text that is no JSON or no topology cannot be loaded', (t) => {
  for (const text of ['', '{', 'null', '[]', '"x"', '{}', '{"revision":"9"}', '{"revision":9.5}']) {
    t.throws(
      () => parseTopology(text, 'some/file.gns3'),
      { status: 409, message: /^Could not load topology some\/file\.gns3: / },
      text,
    );
  }
  t.end();
});

void t.test('a file that does not hold to the schema is refused with the place', (t) => {
  const wrong: readonly (readonly [string, RegExp])[] = [
    [file({ later: 1 }), /later/],
    [file({ type: 'snapshot' }), /type/],
    [file({ project_id: 'x' }), /project_id: must be a UUID/],
    [file({ name: '' }), /name/],
    [file({ zoom: 1.5 }), /zoom/],
    [file({ topology: {} }), /topology\.computes/],
    [file({}, { later: [] }), /later/],
    [file({}, { nodes: [{ ...node, node_type: 'toaster' }] }), /topology\.nodes\.0\.node_type/],
    [file({}, { nodes: [{ ...node, x: 'a' }] }), /topology\.nodes\.0\.x/],
    [file({}, { links: [{ ...link, link_id: 1 }] }), /topology\.links\.0\.link_id/],
    [file({}, { drawings: [{ ...drawing, rotation: 361 }] }), /topology\.drawings\.0\.rotation/],
    [file({}, { nodes: [node, node] }), /the id \S+ occurs twice/],
    [file({}, { links: [link, link] }), /the id \S+ occurs twice/],
    [file({}, { drawings: [drawing, drawing] }), /the id \S+ occurs twice/],
  ];
  for (const [text, reason] of wrong) {
    t.throws(() => parseTopology(text, 'x'), { status: 409, message: reason }, String(reason));
    t.throws(() => parseTopology(text, 'x'), { message: /^Invalid data in topology file: / });
  }
  t.end();
});

void t.test('mappings that validation would refuse today do not prevent reading', (t) => {
  const nodes = [
    { ...node, node_type: 'atm_switch', properties: { mappings: { 'a:b': 5, '1:1:1': '2:2' } } },
  ];
  t.strictSame(parseTopology(file({}, { nodes }), 'x').nodes, nodes);
  t.end();
});

// Contract C.1: "entries with empty name dropped on load".
void t.test('variables without a name are left out', (t) => {
  const variables = [
    { name: '', value: 'x' },
    { name: 'A', value: 'y' },
  ];
  t.same(parseTopology(file({ variables }), 'x').settings.variables, [{ name: 'A', value: 'y' }]);
  t.end();
});

void t.test('the server can describe the project of a file that it cannot open', (t) => {
  const known = { projectId: idOf(100), name: 'lab' };
  t.same(identifyTopology(file({ revision: 3, later: 1 })), known);
  for (const text of ['', '[]', '{}', file({ project_id: 'x' }), file({ name: '' })]) {
    t.equal(identifyTopology(text), undefined, text);
  }
  t.end();
});
