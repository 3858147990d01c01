/** `wirefarm up`, `plan`, `down` and `export`, through the process, against a real server. */
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import t from 'tap';
import { cli, type Ended } from '../support/cli.js';
import { Client } from '../support/client.js';
import { scratchFolder, type Teardown } from '../support/scratch.js';
import { startServer } from '../support/server-process.js';

type Json = Record<string, unknown>;

const server = await startServer(t);
const client = new Client(server.url);
const run = (t: Teardown, ...args: string[]): Promise<Ended> => cli(t, [...args, '--url', server.url]);

function written(folder: string, text: string, name = 'lab.yaml'): string {
  const path = join(folder, name);
  writeFileSync(path, text);
  return path;
}

async function projectOf(name: string): Promise<Json | undefined> {
  return ((await client.get('/v2/projects')).body as Json[]).find((project) => project['name'] === name);
}

const FILE = `
name: sites
kinds:
  ethernet_switch: { ports: 16 }
nodes:
  SW1: { kind: ethernet_switch, at: [0, 0] }
  SW2: { kind: ethernet_switch }
  PC1: { kind: vpcs, files: { startup.vpc: ./pc1.vpc, logo: ./logo } }
links:
  - [SW1:e0, SW2:e0]
  - ends: [SW1:e15, PC1:e0]
    filters: { delay: [20, 5] }
`;

void t.test('a lab comes up as its file says, and goes down', async (t) => {
  const folder = scratchFolder(t);
  const path = written(folder, FILE);
  writeFileSync(join(folder, 'pc1.vpc'), 'ip 10.0.0.1/24\n');
  writeFileSync(join(folder, 'logo'), Buffer.from([0xff, 0xfe, 0, 1]));
  t.same(await run(t, 'plan', path), { code: 2, output: 'create lab sites\n', errors: '' });
  const up = await run(t, 'up', path);
  t.match(up, { code: 0, errors: '' });
  t.match(up.output, /^create node SW1\n.*\ncreate link SW1:e15 PC1:e0\n$/s);
  t.same(await run(t, 'plan', path), { code: 0, output: 'nothing to do\n', errors: '' });
  t.same(await run(t, 'up', path), { code: 0, output: 'nothing to do\n', errors: '' });
  const project = `/v2/projects/${String((await projectOf('sites'))?.['project_id'])}`;
  const nodes = (await client.get(`${project}/nodes`)).body as Json[];
  const pc = String(nodes.find(({ name }) => name === 'PC1')?.['node_id']);
  const logo = await fetch(`${server.url}${project}/nodes/${pc}/files/logo`);
  t.same([...new Uint8Array(await logo.arrayBuffer())], [0xff, 0xfe, 0, 1]);

  const moved = written(
    folder,
    FILE.replace('SW1:e0, SW2:e0', 'SW1:e0, SW2:e7').replace('at: [0, 0]', 'at: [5, 0]'),
  );
  const plan = await run(t, 'plan', moved, '--json');
  t.equal(plan.code, 2);
  t.match(JSON.parse(plan.output), {
    digest: /^[0-9a-f]{64}$/,
    changes: [
      { action: 'change', what: 'node', name: 'SW1', from: { x: 0 }, to: { x: 5 }, cost: 'live' },
      { action: 'remove', what: 'link', name: 'SW1:e0 SW2:e0' },
      { action: 'create', what: 'link', name: 'SW1:e0 SW2:e7' },
    ],
  });
  t.match(await run(t, 'up', moved, '--quiet'), { code: 0, output: '', errors: '' });

  t.same(await run(t, 'down', 'sites'), { code: 0, output: 'the lab sites is closed\n', errors: '' });
  t.match(await projectOf('sites'), { status: 'closed' });
  t.match(await run(t, 'plan', moved), {
    code: 1,
    errors: 'wirefarm: the lab sites is closed: wirefarm up opens it\n',
  });
  t.match(await run(t, 'up', moved), { code: 0, output: 'nothing to do\n' });
  t.match(await run(t, 'down', 'sites', '--delete', '--json'), {
    code: 0,
    output: '{"lab":"sites","state":"deleted"}\n',
  });
  t.equal(await projectOf('sites'), undefined);
  t.match(await run(t, 'down', 'sites'), {
    code: 1,
    errors: `wirefarm: there is no lab sites on ${server.url}\n`,
  });
});

void t.test('nodes are made anew only when that is allowed', async (t) => {
  const folder = scratchFolder(t);
  const file = 'name: anew\nnodes:\n  X: { kind: ethernet_hub }\n';
  await run(t, 'up', written(folder, file));
  const path = written(folder, file.replace('hub', 'switch'));
  const refused = await run(t, 'up', path);
  t.match(refused, { code: 1, errors: /would be made anew.*: X\./ });
  t.match(await run(t, 'up', path, '--allow-recreate'), { code: 0 });
});

void t.test('a wrong file is told by line and field', async (t) => {
  const folder = scratchFolder(t);
  const wrong: [text: string, told: string][] = [
    ['name: a\nnodes: [\n', ':3: '],
    ['name: a\nname: b\n', ':2: Map keys must be unique'],
    ['- 1\n', ':1: a lab file is a map with name, nodes and links'],
    ['nodes: {}\n', ':1: name: a lab file has a name, which is a text'],
    ['name: lines\nnodes:\n  R1:\n    kind: toaster\n', ':4: nodes.R1.kind: '],
    ['name: lines\nnodes:\n  R1: { kind: vpcs }\n  R2:\n    kind: vpcs\n    speed: 3\n', ':4: nodes.R2: '],
    [
      'name: lines\nnodes:\n  A: { kind: vpcs }\n  B: { kind: vpcs }\nlinks:\n  - [A:e0, B:e0]\n  - [A:e0, C:e1]\n',
      ':7: links.1.ends.1: there is no node C in this file',
    ],
    [
      'name: lines\nnodes:\n  A: { kind: vpcs }\n  B: { kind: vpcs }\nlinks:\n  - ends:\n    - A:e0\n    - B:e9\n',
      ':8: links.0.ends.1: B has no port e9: it has e0',
    ],
    [
      'name: lines\nnodes:\n  A:\n    kind: vpcs\n    files:\n      x: ./none\n',
      ':6: nodes.A.files.x: cannot read ',
    ],
  ];
  for (const [text, told] of wrong) {
    const path = written(folder, text);
    const { code, output, errors } = await run(t, 'up', path);
    t.equal(code, 1, told);
    t.equal(output, '');
    t.ok(errors.startsWith(`wirefarm: ${path}${told}`), errors);
  }
  const bomb = ['name: bomb', 'a0: &a0 [x, x, x, x, x, x, x, x, x, x]'];
  for (let level = 1; level < 9; level++)
    bomb.push(`a${level}: &a${level} [${Array.from({ length: 10 }, () => `*a${level - 1}`).join(', ')}]`);
  t.match(await run(t, 'plan', written(folder, bomb.join('\n'))), { code: 1, errors: /alias/ });
  t.match(await run(t, 'plan', written(folder, 'x'.repeat(9_000_000))), { code: 1, errors: /larger than/ });
  t.match(await run(t, 'plan', join(folder, 'none.yaml')), { code: 1, errors: /cannot read .*ENOENT/ });
  t.match(await run(t, 'plan'), { code: 1, errors: /wirefarm plan --help/ });
});

void t.test('a lab that was drawn by hand is written as a file, and the file makes it again', async (t) => {
  const { project_id: id } = await client.expect(201, 'POST', '/v2/projects', {
    name: 'by hand',
    auto_close: false,
  });
  const project = `/v2/projects/${String(id)}`;
  const node = async (name: string, node_type: string, properties: Json = {}): Promise<Json> =>
    client.expect(201, 'POST', `${project}/nodes`, {
      name,
      node_type,
      compute_id: 'local',
      properties,
      x: 7,
      y: -3,
    });
  const ends = [await node('H1', 'ethernet_hub'), await node('F1', 'ethernet_switch')].map(({ node_id }) => ({
    node_id,
    adapter_number: 0,
    port_number: 2,
  }));
  await client.expect(201, 'POST', `${project}/links`, { nodes: ends });
  await client.expect(201, 'POST', `${project}/drawings`, { svg: '<svg></svg>', x: 1, y: 2 });
  const { code, output } = await run(t, 'export', 'by hand');
  t.equal(code, 0);
  t.match(output, 'name: by hand\n');
  t.match(output, '  - [ H1:e2, F1:e2 ]\n');
  t.match(output, 'at: [ 7, -3 ]\n');
  const folder = join(scratchFolder(t), 'below');
  mkdirSync(folder);
  const path = written(folder, output.replace('name: by hand', 'name: again'));
  t.match(await run(t, 'up', path), { code: 0, errors: '' });
  const again = await run(t, 'export', 'again');
  const comparable = (text: string): string => text.slice(0, text.indexOf('drawings:'));
  t.equal(comparable(again.output), comparable(readFileSync(path, 'utf8')));
});

void t.test('a lab of containerlab comes up, and what has no counterpart is told', async (t) => {
  const folder = scratchFolder(t);
  const lab = [
    'name: ring',
    'topology:',
    '  nodes:',
    '    left: { kind: bridge }',
    '    right: { kind: bridge }',
    '  links:',
    '    - endpoints: [left:a, right:a]',
    '    - endpoints: [left:b, right:b]',
  ];
  const path = written(folder, lab.join('\n'), 'ring.clab.yml');
  t.match(await run(t, 'up', path, '--strict'), { code: 0, errors: '' });
  t.same(await run(t, 'plan', path), { code: 0, output: 'nothing to do\n', errors: '' });
  const links = (await client.get(`/v2/projects/${String((await projectOf('ring'))?.['project_id'])}/links`))
    .body;
  t.equal((links as Json[]).length, 2);
  written(folder, [...lab, '      mtu: 9000'].join('\n'), 'ring.clab.yml');
  const told = `wirefarm: ${path}:9: topology.links.1.mtu: it has no counterpart\n`;
  t.same(await run(t, 'plan', path), { code: 0, output: 'nothing to do\n', errors: told });
  t.same(await run(t, 'up', path, '--strict'), { code: 1, output: '', errors: told });
});
