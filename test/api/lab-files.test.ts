/** Lab files over HTTP: plans, their application as a job, and the lab in the form of a file. */
import t from 'tap';
import { Client, type Reply } from '../support/client.js';
import { eventually } from '../support/eventually.js';
import { LinkLab, frameOf, type Json } from '../support/link-lab.js';
import { startServer } from '../support/server-process.js';
import { projectArchive, sendArchive } from '../support/project-archive-lab.js';

interface Change extends Json {
  readonly action: string;
  readonly what: string;
  readonly name: string;
  readonly cost: string;
}

const server = await startServer(t);
const client = new Client(server.url);
const host = { client, url: server.url };

/** A lab of this name without anything in it. */
async function emptyLab(name: string): Promise<LinkLab> {
  return LinkLab.make(host, { name });
}

const put = (lab: LinkLab, file: Json, query = ''): Promise<Reply> =>
  client.put(`${lab.path}/lab-file${query}`, file);

async function planOf(lab: LinkLab, file: Json, query = ''): Promise<{ digest: string; changes: Change[] }> {
  const { status, body, text } = await put(lab, file, `?dry_run=yes${query}`);
  if (status !== 200) throw new Error(text);
  return body as { digest: string; changes: Change[] };
}

const told = (changes: readonly Change[]): string[] =>
  changes.map(
    ({ action, what, name, cost }) => `${action} ${what} ${name}${cost === 'live' ? '' : ` (${cost})`}`,
  );

/** Applies the file, and waits for the end of the job. Returns the state afterwards. */
async function up(lab: LinkLab, file: Json, query = ''): Promise<Json> {
  const { status, text } = await put(lab, file, query);
  if (status !== 202) throw new Error(text);
  return ended(lab);
}

function ended(lab: LinkLab): Promise<Json> {
  return eventually('the end of the job', async () => {
    const state = (await client.get(`${lab.path}/lab-file`)).body as Json;
    return state['state'] === 'under_way' ? undefined : state;
  });
}

async function listOf(lab: LinkLab, what: 'nodes' | 'links' | 'drawings'): Promise<Json[]> {
  return (await client.get(`${lab.path}/${what}`)).body as Json[];
}

const SVG = '<svg width="10" height="10"></svg>';

/** A file that uses every key but those of programs. */
const whole = (name: string): Json => ({
  name,
  kinds: { ethernet_switch: { ports: 16, symbol: ':/symbols/multilayer_switch.svg' } },
  nodes: {
    SW1: { kind: 'ethernet_switch', at: [0, 0] },
    SW2: { kind: 'ethernet_switch', ports: 4, at: [100, 50, 3] },
    H1: { template: 'Ethernet hub', properties: {} },
    A1: { kind: 'atm_switch', properties: { mappings: { '1:10': '2:20' } } },
    PC1: { kind: 'vpcs', files: { 'startup.vpc': { text: 'ip 10.0.0.1/24\n' } } },
  },
  links: [
    ['SW1:e0', 'SW2:Ethernet0'],
    { ends: ['SW1:e15', 'H1:0/1'], filters: { delay: [20, 5] }, capture: { bpf: 'arp' } },
    { ends: ['SW2:e3', 'PC1:e0'], suspend: true },
  ],
  drawings: { title: { svg: SVG, at: [5, 6] } },
});

void t.test('a file makes a lab, and its plan is empty afterwards', async (t) => {
  const lab = await emptyLab('whole');
  const file = whole('whole');
  t.same((await client.get(`${lab.path}/lab-file`)).body, { lab_file: null, state: 'none', reason: null });
  const { changes, digest } = await planOf(lab, file);
  t.same(told(changes), [
    'create node SW1',
    'create node SW2',
    'create node H1',
    'create node A1',
    'create node PC1',
    'create file PC1/startup.vpc',
    'create link SW1:e0 SW2:e0',
    'create link SW1:e15 H1:e1',
    'start capture SW1:e15 H1:e1',
    'create link SW2:e3 PC1:e0',
    'create drawing title',
  ]);
  t.same(await listOf(lab, 'nodes'), [], 'a plan changes nothing');
  t.match(await up(lab, file, `?plan=${digest}`), {
    state: 'applied',
    reason: null,
    lab_file: { name: 'whole' },
  });
  t.same((await planOf(lab, file)).changes, []);
  const nodes = new Map((await listOf(lab, 'nodes')).map((node) => [node['name'], node]));
  t.match(nodes.get('SW1'), { x: 0, y: 0, symbol: ':/symbols/multilayer_switch.svg' });
  t.equal((nodes.get('SW1')?.['ports'] as Json[]).length, 16);
  t.match(nodes.get('SW2'), { x: 100, y: 50, z: 3 });
  t.equal((nodes.get('SW2')?.['ports'] as Json[]).length, 4);
  const pc = nodes.get('PC1') ?? {};
  const script = await client.get(`${lab.path}/nodes/${String(pc['node_id'])}/files/startup.vpc`);
  t.equal(script.text, 'ip 10.0.0.1/24\n');
  const links = await listOf(lab, 'links');
  t.match(
    links.filter(({ capturing }) => capturing === true),
    [{ filters: { delay: [20, 5] } }],
  );
  t.equal(links.filter(({ suspend }) => suspend === true).length, 1);
  t.match(await listOf(lab, 'drawings'), [{ svg: SVG, x: 5, y: 6 }]);
});

void t.test('each change is told with its cost, and only it is made', async (t) => {
  const lab = await emptyLab('changed');
  const file = whole('changed');
  await up(lab, file);
  const before = await listOf(lab, 'nodes');
  const next = structuredClone(file) as Json & {
    nodes: Record<string, Json>;
    links: unknown[];
    drawings: Json;
  };
  next.nodes['SW1'] = { kind: 'ethernet_switch', at: [10, 0] };
  next.nodes['H1'] = { kind: 'ethernet_switch', ports: 8 };
  Reflect.deleteProperty(next.nodes, 'A1');
  next.nodes['PC1'] = { kind: 'vpcs', files: { 'startup.vpc': { text: 'ip 10.0.0.2/24\n' } } };
  next.links = [
    ['SW1:e1', 'SW2:e0'],
    ['SW1:e15', 'H1:e1'],
    ['SW2:e3', 'PC1:e0'],
  ];
  next.drawings = {};
  const { changes } = await planOf(lab, next);
  t.same(told(changes), [
    'remove node A1',
    'change node SW1',
    'remove node H1 (recreate)',
    'create node H1 (recreate)',
    'change file PC1/startup.vpc',
    'remove link SW1:e0 SW2:e0',
    'remove link SW1:e15 H1:e1 (recreate)',
    'create link SW1:e1 SW2:e0',
    'create link SW1:e15 H1:e1 (recreate)',
    'change link SW2:e3 PC1:e0',
    'remove drawing title',
  ]);
  const refused = await put(lab, next);
  t.match(refused, { status: 409, body: { code: 'lab_file_recreates', message: /: H1\. Allow/ } });
  t.same(await listOf(lab, 'nodes'), before, 'a refused file changes nothing');
  t.match(await up(lab, next, '?allow_recreate=yes'), { state: 'applied' });
  t.same((await planOf(lab, next)).changes, []);
  const idOf = (list: readonly Json[], name: string): unknown =>
    list.find((node) => node['name'] === name)?.['node_id'];
  const after = await listOf(lab, 'nodes');
  t.equal(idOf(after, 'SW1'), idOf(before, 'SW1'));
  t.not(idOf(after, 'H1'), idOf(before, 'H1'));
});

void t.test('objects that no file names are left alone, unless prune is asked for', async (t) => {
  const lab = await emptyLab('mixed');
  const file = { name: 'mixed', nodes: { SW1: { kind: 'ethernet_switch' } } };
  await up(lab, file);
  const hub = await lab.hub('drawn');
  const [own] = await listOf(lab, 'nodes');
  await lab.link(
    [own, hub].map((node) => ({ node_id: node?.['node_id'], adapter_number: 0, port_number: 0 })),
  );
  await client.expect(201, 'POST', `${lab.path}/drawings`, { svg: SVG });
  t.same((await planOf(lab, file)).changes, []);
  const linked = {
    ...file,
    nodes: { ...file.nodes, SW2: { kind: 'ethernet_switch' } },
    links: [['SW1:e0', 'SW2:e0']],
  };
  const refused = await put(lab, linked, '?dry_run=yes');
  t.match(refused, { status: 400, body: { code: 'lab_file_refused', faults: [{ path: ['links', 0] }] } });
  t.same(told((await planOf(lab, file, '&prune=yes')).changes).slice(0, 2), [
    'remove node drawn',
    'remove link SW1:e0 drawn:e0',
  ]);
  t.match(await up(lab, linked, '?prune=yes'), { state: 'applied' });
  t.same(
    (await listOf(lab, 'nodes')).map(({ name }) => name),
    ['SW1', 'SW2'],
  );
  t.same(await listOf(lab, 'drawings'), []);
});

void t.test('a plan is done as it was shown, or not at all', async (t) => {
  const lab = await emptyLab('moved');
  const file = {
    name: 'moved',
    nodes: { SW1: { kind: 'ethernet_switch' }, SW2: { kind: 'ethernet_switch' } },
  };
  const { digest } = await planOf(lab, file);
  t.equal((await planOf(lab, file)).digest, digest);
  await lab.node('ethernet_switch', 'SW1');
  const refused = await put(lab, file, `?plan=${digest}`);
  t.match(refused, { status: 409, body: { code: 'lab_file_plan_differs' } });
  t.equal((await listOf(lab, 'nodes')).length, 1);
});

void t.test('a wrong file is refused with the place of each fault', async (t) => {
  const lab = await emptyLab('wrong');
  const faultsOf = async (file: Json): Promise<unknown> => {
    const { status, body } = await put(lab, { name: 'wrong', ...file }, '?dry_run=yes');
    t.equal(status, 400);
    return (body as Json)['faults'];
  };
  t.match(await faultsOf({ nodes: { R1: { kind: 'toaster' }, 'R 2': { kind: 'vpcs' }, R3: {} } }), [
    { path: ['nodes', 'R1', 'kind'] },
    { path: ['nodes', 'R 2'] },
    { path: ['nodes', 'R3'], reason: 'a node has either a kind or a template' },
  ]);
  const pair = { S1: { kind: 'ethernet_switch' }, S2: { kind: 'ethernet_switch', ports: 1 } };
  t.match(await faultsOf({ nodes: pair, links: [['S1:e0', 'S3:e0']] }), [{ path: ['links', 0, 'ends', 1] }]);
  t.match(
    await faultsOf({
      nodes: { ...pair, S3: { template: 'none' }, S4: { kind: 'ethernet_switch', properties: { ram: 3 } } },
      links: [
        ['S1:e0', 'S2:e7'],
        ['S1:e1', 'S1:e2'],
        ['S1:e3', 'S2:e0'],
        ['S1:e3', 'S4:e0'],
      ],
    }),
    [
      { path: ['nodes', 'S3'], reason: "There is no template 'none' on this server" },
      { path: ['nodes', 'S4'], reason: /ram/ },
      { path: ['links', 0, 'ends', 1], reason: 'S2 has no port e7: it has e0' },
      { path: ['links', 1], reason: 'a link has its ends at two nodes' },
    ],
  );
  const circle = { S1: { kind: 'vpcs', after: ['S2'] }, S2: { kind: 'vpcs', after: ['S1'] } };
  t.match(await faultsOf({ nodes: circle }), [{ path: ['nodes', 'S1', 'after'] }]);
  t.match(await put(lab, { name: 'other' }, '?dry_run=yes'), {
    status: 409,
    body: { code: 'lab_file_name_differs' },
  });
  t.same(await listOf(lab, 'nodes'), []);
});

void t.test('a failure stops the job with what is done, and the next application goes on', async (t) => {
  const lab = await emptyLab('failing');
  const links = [{ ends: ['SW1:e0', 'SW2:e0'], filters: { bpf: ['no such word'] } }];
  const file = {
    name: 'failing',
    nodes: { SW1: { kind: 'ethernet_switch' }, SW2: { kind: 'ethernet_switch' } },
  };
  t.match(await up(lab, { ...file, links }), {
    state: 'unfinished',
    reason: /^2 of 3 steps are done, then: /,
  });
  const { changes } = await planOf(lab, { ...file, nodes: { SW1: { kind: 'ethernet_switch' } } });
  t.same(told(changes), ['remove node SW2'], 'the unfinished file counts as well');
  t.match(await up(lab, { ...file, links: [['SW1:e0', 'SW2:e0']] }), { state: 'applied', reason: null });
});

void t.test('a changed link loses no frame elsewhere', async (t) => {
  const lab = await emptyLab('traffic');
  const file = (port: string): Json => ({
    name: 'traffic',
    nodes: { H1: { kind: 'ethernet_hub' }, H2: { kind: 'ethernet_hub' }, H3: { kind: 'ethernet_hub' } },
    links: [
      ['H1:e0', 'H2:e0'],
      ['H2:e1', `H3:${port}`],
    ],
  });
  await up(lab, file('e0'));
  const nodes = new Map((await listOf(lab, 'nodes')).map((node) => [node['name'], node]));
  const near = await lab.peer(t, nodes.get('H1') ?? {}, 7);
  const far = await lab.peer(t, nodes.get('H2') ?? {}, 7);
  let sent = 0;
  for (let round = 1; round <= 6; round++) {
    const ended = new AbortController();
    const applied = up(lab, file(`e${round % 4}`)).finally(() => {
      ended.abort();
    });
    while (!ended.signal.aborted) {
      await near.peer.send(near.near, [frameOf(sent++)]);
      // No socket has more than one frame to keep, also on a busy machine.
      await far.peer.receive(sent);
    }
    t.match(await applied, { state: 'applied' });
  }
  t.equal((await far.peer.receive(sent)).length, sent);
});

void t.test('a lab that was drawn by hand becomes a file whose plan is empty', async (t) => {
  const lab = await emptyLab('drawn');
  const [one, two] = [await lab.hub('H1'), await lab.atm('A1')];
  const more = await lab.node('ethernet_switch', 'SW1');
  await lab.node('vpcs', 'PC1');
  t.ok(two);
  const ends = [one, more].map((node) => ({ node_id: node['node_id'], adapter_number: 0, port_number: 1 }));
  await lab.link(ends, { filters: { packet_loss: [10] } });
  const { lab_file: file } = (await client.expect(200, 'GET', `${lab.path}/lab-file?drawn=yes`)) as {
    lab_file: Json;
  };
  t.match(file, { nodes: { A1: { kind: 'atm_switch' } }, links: [{ ends: ['H1:e1', 'SW1:e1'] }] });
  t.same((await planOf(lab, file)).changes, []);
  const copy = await emptyLab('copy');
  await up(copy, { ...file, name: 'copy' });
  t.equal((await listOf(copy, 'links')).length, 1);
});

void t.test('an export has the lab file, and what is none is passed over', async (t) => {
  const lab = await emptyLab('exported');
  const nodes = { SW1: { kind: 'ethernet_switch' }, SW2: { kind: 'ethernet_switch' } };
  const file = { name: 'exported', nodes, links: [['SW1:e0', 'SW2:e0']] };
  await up(lab, { ...file, drawings: { title: { svg: SVG } } });
  const { lab_file: applied } = (await client.expect(200, 'GET', `${lab.path}/lab-file`)) as {
    lab_file: Json;
  };
  await client.expect(204, 'POST', `${lab.path}/close`);
  const response = await fetch(`${server.url}${lab.path}/export`);
  const archive = new Uint8Array(await response.arrayBuffer());
  const taken = async (bytes: Uint8Array, name: string): Promise<string> => {
    const { status, body, text } = await sendArchive(client, bytes, { name });
    t.equal(status, 201, text);
    const path = `/v2/projects/${String((body as Json)['project_id'])}`;
    await client.expect(201, 'POST', `${path}/open`);
    return path;
  };
  const path = await taken(archive, 'imported');
  t.same((await client.get(`${path}/lab-file`)).body, { lab_file: applied, state: 'applied', reason: null });
  const smaller = { name: 'imported', nodes: { SW1: { kind: 'ethernet_switch' } } };
  const { changes } = await client.expect(200, 'PUT', `${path}/lab-file?dry_run=yes`, smaller);
  t.same(told(changes as Change[]), ['remove node SW2', 'remove link SW1:e0 SW2:e0', 'remove drawing title']);
  for (const text of ['no JSON', '{"applied": 1}']) {
    const planted = await taken(
      projectArchive({}, { '.wirefarm/lab-file.json': text }),
      `planted ${text.length}`,
    );
    t.match((await client.get(`${planted}/lab-file`)).body, { lab_file: null, state: 'none' });
  }
});

void t.test(
  'a file in YAML is read with the lines of its faults, and a lab is written in YAML',
  async (t) => {
    const read = async (
      text: string,
    ): Promise<{ lab_file: Json | null; faults: { line: number; message: string }[] }> =>
      (await client.expect(200, 'POST', '/v2/lab-files/read', { text })) as never;
    const lab = await emptyLab('written');
    const source = [
      'name: written',
      'nodes:',
      '  SW1: { kind: ethernet_switch, at: [0, 0] }',
      '  PC1: { kind: vpcs, files: { startup.vpc: ./pc1.vpc } }',
      'links:',
      '  - [SW1:e0, PC1:e0]',
    ];
    const { lab_file: file, faults } = await read(source.join('\n'));
    t.same(faults, [], 'a path stands for what is in the file');
    t.match(file, { nodes: { PC1: { files: { 'startup.vpc': './pc1.vpc' } } } });
    const { PC1: _, ...nodes } = file?.['nodes'] as Json;
    await up(lab, { name: 'written', nodes });
    const drawn = await client.expect(201, 'POST', `${lab.path}/drawings`, {
      svg: SVG,
      x: 7,
      z: 0,
      rotation: 5,
    });
    const drawingId = String(drawn['drawing_id']);
    const written = await (await fetch(`${server.url}${lab.path}/lab-file/text`)).text();
    t.match(written, /^name: written\nnodes:\n {2}SW1:\n/);
    t.match(written, /at: \[ 0, 0/);
    const again = await read(written);
    t.same(again.faults, []);
    t.match(again.lab_file, { drawings: { [drawingId]: { at: [7, 0, 0], rotation: 5 } } });
    t.same((await planOf(lab, again.lab_file ?? {}, '&prune=yes')).changes, [], 'drawings go by their ids');
    await up(lab, again.lab_file ?? {});
    t.same(told((await planOf(lab, { name: 'written', nodes })).changes), [`remove drawing ${drawingId}`]);
    const faultsOf = async (text: string): Promise<string[]> =>
      (await read(text)).faults.map(({ line, message }) => `${line} ${message}`);
    t.match(await faultsOf(source.with(2, '  SW1: { kind: toaster }').join('\n')), [/^3 nodes\.SW1\.kind: /]);
    t.match(await faultsOf(source.with(5, '  - [SW1:e0, PC2:e0]').join('\n')), [
      /^6 links\.0\.ends\.1: .*PC2/,
    ]);
    t.match(await faultsOf('name: a\nnodes: [\n'), [/^[23] /]);
    t.match(await faultsOf('name: a\nname: b'), ['2 name: stands twice']);
    t.match(await faultsOf('just words'), ['1 a lab file is a map with name, nodes and links']);
    const bomb = Array.from(
      { length: 30 },
      (_, level) => `a${level}: &a${level} [${level === 0 ? 'x' : `*a${level - 1}, *a${level - 1}`}]`,
    );
    for (const hostile of [
      bomb.join('\n'),
      '['.repeat(50_000),
      `${'? '.repeat(20_000)}a`,
      '&a [*a]',
      '!!js/function x',
      '\0',
    ])
      t.ok((await faultsOf(hostile)).length > 0, hostile.slice(0, 20));
    t.equal((await client.post('/v2/lab-files/read', { text: 'a'.repeat(300_000) })).status, 400);
  },
);
