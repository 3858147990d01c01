/** Topology files and upload records: JSON that anybody may have written. */
import { deepEqual, equal } from 'node:assert/strict';
import t from 'tap';
import { NEVER_WRITTEN, type LabRecords } from '../../src/lab/projects/records.js';
import {
  identifyTopology,
  parseTopology,
  renderTopology,
  type Gns3Content,
} from '../../src/lab/gns3-file/format.js';
import { parseRecord } from '../../src/files/uploads/upload-request.js';
import { fuzz, unlessRefused } from '../support/fuzzer.js';
import { rounds } from '../support/rounds.js';
import { idOf } from '../support/stored-objects.js';

const INPUTS = rounds(800, 20_000);
const WORDS = [
  'null',
  'true',
  '{}',
  '[]',
  '""',
  ',',
  ':',
  '{',
  '}',
  '[',
  ']',
  '"',
  '"__proto__":',
  '\\ud800',
];
const NUMBERS = ['-1', '0.5', '1e400', '9007199254740993'];
const PLACES = { x: 0, y: -3, z: 1, locked: false };
const LABEL = { rotation: 0, style: null, text: 'R1', x: null, y: -40 };

const TOPOLOGY = {
  name: 'lab',
  project_id: idOf(100),
  revision: 9,
  type: 'topology',
  version: '2.2.60',
  variables: [{ name: 'A', value: 'é' }, { name: '' }],
  supplier: { logo: 'l' },
  topology: {
    computes: [{ compute_id: 'far' }],
    nodes: [
      {
        ...PLACES,
        compute_id: 'local',
        node_id: idOf(1),
        node_type: 'vpcs',
        name: 'PC1',
        console: 5004,
        console_type: 'telnet',
        label: LABEL,
        properties: { nested: { b: [1, 2], a: null } },
        custom_adapters: [{ adapter_number: 1, mac_address: '00:01:02:03:04:05' }],
      },
    ],
    links: [
      {
        link_id: idOf(2),
        filters: { delay: [10, 1] },
        link_style: { color: '#000000' },
        nodes: [{ adapter_number: 0, label: LABEL, node_id: idOf(1), port_number: 0 }],
      },
    ],
    drawings: [{ ...PLACES, drawing_id: idOf(3), rotation: 0, svg: '<svg/>' }],
  },
};

function recordsOf({ settings, computes, nodes, links, drawings }: Gns3Content): LabRecords {
  const ordered = <T>(objects: readonly T[]): { order: number; object: T }[] =>
    objects.map((object, order) => ({ order, object }));
  return {
    project: { order: 0, path: '/p', filename: 'p.gns3', settings, computes },
    file: NEVER_WRITTEN,
    version: 0,
    entities: {
      ...{ node: ordered(nodes), link: ordered(links), drawing: ordered(drawings) },
      ...{ directed: [], capture: [], lab_file: [], visited: [] },
    },
  };
}

const written = (content: Gns3Content): string =>
  renderTopology(content.projectId, recordsOf(content), '2.2.60');

function checkTopology(input: Buffer): void {
  const text = input.toString('utf8');
  const content = unlessRefused(() => parseTopology(text, 'lab.gns3'));
  const identified = identifyTopology(text);
  if (content === undefined) return;
  // A file of an earlier revision may have no id.
  if (content.older === undefined) equal(identified?.projectId, content.projectId);
  const once = written(content);
  equal(written(parseTopology(once, 'lab.gns3')), once);
}

void t.test('topology files', async (t) => {
  const samples = [JSON.stringify(TOPOLOGY)];
  const keys = [...samples.join('').matchAll(/"\w+":/g)].map(([key]) => key);
  const words = [...WORDS, ...NUMBERS, ...keys];
  t.ok(await fuzz({ samples, words, inputs: INPUTS, check: checkTopology, code: /\/(?:src\/lab|zod)\// }));
});

void t.test('a topology file whose objects are nested too deep is read or refused', (t) => {
  for (const opening of ['[', '{"a":']) {
    const [before = '', after = ''] = JSON.stringify(TOPOLOGY).split('[1,2]');
    const depth = 100_000;
    const inner = opening.repeat(depth) + 'null' + (opening === '[' ? ']' : '}').repeat(depth);
    t.doesNotThrow(() => unlessRefused(() => parseTopology(before + inner + after, 'lab.gns3')));
  }
  t.end();
});

void t.test('records of uploads', async (t) => {
  const record = {
    upload_id: '6f7f1b0c-30a3-4a0c-9d3d-1c5a7c1f0a01',
    target: { emulator: 'qemu', filename: 'a.qcow2' },
    size: 5,
    digests: { md5: '00', 'sha-256': 'ff' },
    metadata: 'emulator cWVtdQ==',
    landing: true,
    started_at: 1,
    finished_at: null,
  };
  const target = { project_id: 'p', node_id: 'n', path: 'a/b' };
  const samples = [record, { ...record, target, finished_at: 2 }].map((sample) => JSON.stringify(sample));
  const check = (input: Buffer): void => {
    const read = parseRecord(input.toString('utf8'));
    if (read !== undefined) deepEqual(parseRecord(JSON.stringify(read)), read);
  };
  const code = /\/(?:src\/files\/uploads|zod)\//;
  t.ok(await fuzz({ samples, words: [...WORDS, ...NUMBERS], inputs: INPUTS, check, code }));
});
