/** Project folders that GNS3 2.2 wrote, with whatever is in them. */
import { execFileSync } from 'node:child_process';
import { existsSync, mkdirSync, readdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import t, { type Test } from 'tap';
import { Client } from '../../support/client.js';
import {
  gns3Drawing,
  gns3Link,
  gns3Node,
  gns3Text,
  placeGns3Project,
  type Gns3Content,
  type Gns3Node,
  type Json,
} from '../../support/gns3-project.js';
import { asReferenceWrites, gns3Problems, parseGns3 } from '../../support/gns3-schema.js';
import { scratchFolder } from '../../support/scratch.js';
import { startServer, type ServerProcess } from '../../support/server-process.js';

const FOREIGN = ['traceng', 'vmware', 'virtualbox'];
const NODE_KEYS = 27;

function projectsFolder(t: Test): { data: string; projects: string } {
  const data = scratchFolder(t);
  const projects = join(data, 'projects');
  mkdirSync(projects);
  return { data, projects };
}

async function started(t: Test, data: string): Promise<{ server: ServerProcess; client: Client }> {
  const server = await startServer(t, { data });
  return { server, client: new Client(server.url) };
}

async function listOf(client: Client, path: string): Promise<Json[]> {
  return (await client.get(path)).body as Json[];
}

/** Everything at once that a lab of GNS3 may have and this server does not run. */
function mixedLab(): Gns3Content & { readonly kept: ReadonlySet<string> } {
  const foreign = FOREIGN.map((kind) => gns3Node(kind, { future_key: { of: kind } }));
  const remote = gns3Node('ethernet_switch', {
    name: 'far',
    compute_id: 'c0ffee00-0000-4000-8000-000000000000',
  });
  const hub = gns3Node('ethernet_hub', { name: 'hub' });
  const atm = gns3Node('atm_switch', { name: 'ATM', properties: { mappings: { '1:0:100': '10:0:200' } } });
  const refused = gns3Node('frame_relay_switch', {
    name: 'FR',
    properties: { mappings: { nonsense: 5, '1:2': '3' } },
  });
  const twin = gns3Node('vpcs', { name: 'vpcs-1', console_type: null });
  const bare: Gns3Node = {
    compute_id: 'local',
    name: 'bare',
    node_id: gns3Node('vpcs').node_id,
    node_type: 'vpcs',
    properties: {},
  };
  const [traceng, vmware, virtualbox] = foreign;
  const dynamips = gns3Node('dynamips', { future_key: { of: 'dynamips' } });
  const links = [
    gns3Link({ node: traceng ?? hub }, { node: hub, port: 0 }, { suspend: true }),
    gns3Link(
      { node: vmware ?? hub, adapter: 1 },
      { node: hub, port: 1 },
      {
        filters: { packet_loss: [10], delay: [5, 1] },
        link_style: { color: '#ff0000', width: 3, type: 2 },
      },
    ),
    gns3Link({ node: dynamips, adapter: 2, port: 3 }, { node: atm, port: 10 }),
    gns3Link({ node: virtualbox ?? hub, adapter: 1 }, { node: remote, port: 2 }),
    gns3Link({ node: refused, port: 7 }, { node: bare, port: 0 }),
  ];
  const nodes = [...foreign, remote, hub, atm, refused, twin, bare, dynamips];
  return {
    nodes,
    links,
    drawings: [gns3Drawing()],
    computes: [
      {
        compute_id: 'c0ffee00-0000-4000-8000-000000000000',
        host: '192.0.2.1',
        name: 'far',
        port: 3080,
        protocol: 'http',
      },
    ],
    kept: new Set([...nodes.map((node) => node.node_id), ...links.map((link) => link.link_id)]),
  };
}

void t.test('folders are found at the start and at a reload, and listed closed', async (t) => {
  const { data, projects } = projectsFolder(t);
  const early = placeGns3Project(projects, 'early');
  const { server, client } = await started(t, data);
  t.match(await listOf(client, '/v2/projects'), [{ project_id: early.id, name: 'early', status: 'closed' }]);
  const late = placeGns3Project(projects, 'late');
  await client.expect(200, 'POST', '/v2/reload');
  t.same(
    (await listOf(client, '/v2/projects')).map((project) => [project['project_id'], project['status']]),
    [
      [early.id, 'closed'],
      [late.id, 'closed'],
    ],
  );
  t.equal(readFileSync(early.path, 'utf8'), early.text, 'looking changes nothing');
  t.equal(await server.stop(), 0);
});

void t.test('a lab of nodes that are not served opens, and goes back unchanged', async (t) => {
  const { data, projects } = projectsFolder(t);
  const lab = mixedLab();
  const { nodes = [], links = [] } = lab;
  const { id, path } = placeGns3Project(projects, 'mixed', lab);
  const { server, client } = await started(t, data);
  const base = `/v2/projects/${id}`;
  await client.expect(201, 'POST', `${base}/open`);

  const shown = await listOf(client, `${base}/nodes`);
  t.equal(shown.length, nodes.length);
  for (const node of shown)
    t.equal(Object.keys(node).length, NODE_KEYS, `${String(node['name'])} has all keys`);
  const shownLinks = await listOf(client, `${base}/links`);
  t.same(
    shownLinks.map((link) => link['link_id']),
    links.map((link) => link['link_id']),
    'no link is dropped',
  );
  t.match(shownLinks[0], { suspend: true }, 'a suspended link stays suspended');
  t.match(shownLinks[1], { filters: { packet_loss: [10], delay: [5, 1] }, link_style: { color: '#ff0000' } });
  t.match(shownLinks[2], { link_type: 'serial' }, 'the served end tells the type of a link');

  for (const link of shownLinks) {
    for (const end of link['nodes'] as Json[]) {
      const node = shown.find((candidate) => candidate['node_id'] === end['node_id']);
      const ports = node?.['ports'] as Json[];
      t.ok(
        ports.some(
          (port) =>
            port['adapter_number'] === end['adapter_number'] && port['port_number'] === end['port_number'],
        ),
        'a node has the ports that its links use',
      );
    }
  }
  for (const node of shown.slice(0, FOREIGN.length + 1)) {
    const kind = String(node['node_type']);
    t.equal(node['status'], 'stopped', `a ${kind} is stopped`);
    const start = await client.post(`${base}/nodes/${String(node['node_id'])}/start`);
    t.equal(start.status, 409);
    t.match(start.body, { message: new RegExp(kind, 'i') }, 'the refusal names the kind');
  }
  const all = await client.post(`${base}/nodes/start`);
  t.equal(all.status, 409, 'starting all of them is refused');
  t.match(all.body, { message: new RegExp(FOREIGN.join('|'), 'i') });

  const [first] = nodes;
  const moved = await client.expect(200, 'PUT', `${base}/nodes/${String(first?.['node_id'])}`, {
    x: 77,
    y: -7,
  });
  t.match(moved, { x: 77, y: -7, status: 'stopped' });
  await client.expect(204, 'POST', `${base}/close`);
  const text = readFileSync(path, 'utf8');
  t.same(gns3Problems(text, lab.kept), [], 'the file is what GNS3 reads');
  const { topology } = parseGns3(text, lab.kept);
  t.same(topology.nodes[0], { ...first, x: 77, y: -7 }, 'the moved node changed in what was moved');
  const served = new Set(['ethernet_hub', 'atm_switch', 'frame_relay_switch']);
  for (const [index, node] of nodes.entries()) {
    if (index === 0 || served.has(String(node['node_type']))) continue;
    t.same(topology.nodes[index], node, `${String(node['name'])} is unchanged, key for key`);
  }
  t.same(topology.links, links, 'so are the links');
  t.same(topology.computes, lab.computes, 'and the computes');
  t.equal(await server.stop(), 0);
});

void t.test('a drawing in a picture file is shown inline, its image too', async (t) => {
  const { data, projects } = projectsFolder(t);
  const picture = 'd41d8cd98f00b204e9800998ecf8427e.svg';
  const image = '900150983cd24fb0d6963f7d28e17f72.png';
  const drawings = [picture, '../../../secret.svg', 'photo.bmp'].map((svg) => gns3Drawing({ svg }));
  const { id, folder } = placeGns3Project(projects, 'drawn', { drawings });
  const images = join(folder, 'project-files', 'images');
  mkdirSync(images);
  writeFileSync(join(images, picture), `<svg width="10" height="10"><image href="${image}" /></svg>`);
  writeFileSync(join(images, image), '\x89PNG\r\n\x1a\n', 'latin1');
  const bitmap = Buffer.from(`424d${'00'.repeat(12)}280000000700000003000000`, 'hex');
  writeFileSync(join(images, 'photo.bmp'), bitmap);
  writeFileSync(join(projects, 'secret.svg'), '<svg>secret</svg>');
  const { server, client } = await started(t, data);
  await client.expect(201, 'POST', `/v2/projects/${id}/open`);
  const [shown, planted, photo] = await listOf(client, `/v2/projects/${id}/drawings`);
  const inline = 'data:image/png;base64,iVBORw0KGgo=';
  t.equal(shown?.['svg'], `<svg width="10" height="10"><image href="${inline}" /></svg>`);
  t.match(
    photo?.['svg'],
    `<image height="3" width="7" xlink:href="data:image/bmp;base64,${bitmap.toString('base64')}"/>`,
  );
  t.notMatch(planted?.['svg'], /secret<\/svg>/, 'a picture outside the folder is not read');
  t.equal(await server.stop(), 0);
});

void t.test('optional keys of the file may be missing', async (t) => {
  const { data, projects } = projectsFolder(t);
  const { id, path } = placeGns3Project(projects, 'short');
  const { topology, project_id, type, revision, version, name } = JSON.parse(
    readFileSync(path, 'utf8'),
  ) as Json;
  writeFileSync(path, asReferenceWrites({ topology, project_id, type, revision, version, name }));
  const { server, client } = await started(t, data);
  t.match(await client.expect(201, 'POST', `/v2/projects/${id}/open`), { auto_close: true, zoom: 100 });
  await client.expect(201, 'POST', `/v2/projects/${id}/drawings`, {});
  t.equal(await server.stop(), 0);
  t.same(gns3Problems(readFileSync(path, 'utf8')), [], 'and are there when the server has written it');
});

void t.test('a file of a later revision is listed, and opening it is refused', async (t) => {
  const { data, projects } = projectsFolder(t);
  const newer = placeGns3Project(projects, 'newer', { head: { revision: 10, version: '3.0.0' } });
  const { server, client } = await started(t, data);
  const listed = (await listOf(client, '/v2/projects')).map((project) => project['name']);
  t.same(listed, ['newer']);
  const refused = await client.post(`/v2/projects/${newer.id}/open`);
  t.equal(refused.status, 409);
  t.match(refused.body, {
    message:
      'This project was created with more recent version of GNS3 (file revision: 10). ' +
      'Please upgrade GNS3 to version 3.0.0 or later',
  });
  writeFileSync(newer.path, gns3Text(newer.id, 'newer', { drawings: [gns3Drawing()] }));
  await client.expect(201, 'POST', `/v2/projects/${newer.id}/open`);
  t.equal((await listOf(client, `/v2/projects/${newer.id}/drawings`)).length, 1, 'a converted file opens');
  t.equal(await server.stop(), 0);
});

void t.test('a second folder with the same project is ignored, with a warning', async (t) => {
  const { data, projects } = projectsFolder(t);
  const first = placeGns3Project(projects, 'lab', {}, undefined, 'a-folder');
  const second = placeGns3Project(projects, 'copy', {}, first.id, 'b-folder');
  const { server, client } = await started(t, data);
  t.match(await listOf(client, '/v2/projects'), [{ name: 'lab', path: first.folder }]);
  t.equal((await listOf(client, '/v2/projects')).length, 1);
  t.equal(await server.stop(), 0);
  await server.logged(/"level":40.*b-folder/);
  t.equal(readFileSync(second.path, 'utf8'), second.text);
});

void t.test('pipes, folders and links in place of files block nothing', async (t) => {
  const { data, projects } = projectsFolder(t);
  for (const name of ['pipe', 'folder', 'link']) mkdirSync(join(projects, name));
  execFileSync('mkfifo', [join(projects, 'pipe', 'x.gns3')]);
  mkdirSync(join(projects, 'folder', 'x.gns3'));
  symlinkSync('/dev/zero', join(projects, 'link', 'x.gns3'));
  const good = placeGns3Project(projects, 'good');
  const { server, client } = await started(t, data);
  t.match(await listOf(client, '/v2/projects'), [{ project_id: good.id }]);
  await client.expect(200, 'POST', '/v2/reload');
  t.equal((await listOf(client, '/v2/projects')).length, 1);
  t.equal(await server.stop(), 0);
});

void t.test('a planted tmp or snapshots link never leads a write outside', async (t) => {
  const { data, projects } = projectsFolder(t);
  const outside = scratchFolder(t);
  const lab = placeGns3Project(projects, 'lab');
  symlinkSync(outside, join(lab.folder, 'tmp'));
  symlinkSync(outside, join(lab.folder, 'snapshots'));
  writeFileSync(join(outside, 'precious'), 'precious');
  const { server, client } = await started(t, data);
  const base = `/v2/projects/${lab.id}`;
  await client.request('POST', `${base}/files/a.txt`, 'a');
  await client.request('PUT', base, { name: 'renamed' });
  await client.post(`${base}/open`);
  await client.post(`${base}/drawings`, {});
  // Somebody else's file has to be put aside, into the planted folder.
  writeFileSync(lab.path, lab.text);
  await client.post(`${base}/drawings`, {});
  await client.post(`${base}/close`);
  t.equal(await server.stop(), 0);
  t.same(readdirSync(outside), ['precious'], 'nothing was written there, and nothing removed');
  t.ok(existsSync(lab.path));
});

void t.test(
  'among two topology files the one with the name of the folder counts, else the first',
  async (t) => {
    const { data, projects } = projectsFolder(t);
    const named = placeGns3Project(projects, 'named', {}, undefined, 'named');
    writeFileSync(join(named.folder, 'a-copy.gns3'), gns3Text(named.id, 'a-copy'));
    const other = placeGns3Project(projects, 'second', {}, undefined, 'other');
    writeFileSync(join(other.folder, 'first.gns3'), gns3Text(other.id, 'first'));
    const { server, client } = await started(t, data);
    t.same(
      (await listOf(client, '/v2/projects')).map((project) => [project['name'], project['filename']]).sort(),
      [
        ['first', 'first.gns3'],
        ['named', 'named.gns3'],
      ],
    );
    t.equal(await server.stop(), 0);
    t.equal(readFileSync(named.path, 'utf8'), named.text);
    t.equal(readFileSync(other.path, 'utf8'), other.text);
  },
);
