/** Projects of GNS3 1.0 to 2.1 that are odd: a name, an id or a port twice, and what is missing. Opened and imported, over HTTP. */
import { randomUUID } from 'node:crypto';
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import t from 'tap';
import { Client } from '../support/client.js';
import type { Json } from '../support/gns3-project.js';
import {
  firstLab,
  firstLink,
  firstNode,
  placeOlder,
  secondLab,
  secondLink,
  secondNode,
  type OlderLab,
} from '../support/older-projects.js';
import { importPath } from '../support/project-archive-lab.js';
import { scratchFolder } from '../support/scratch.js';
import { startServer } from '../support/server-process.js';
import { plainArchive } from '../support/zip-archives.js';

const data = scratchFolder(t);
const projects = join(data, 'projects');
mkdirSync(projects);
const server = await startServer(t, { data });
const client = new Client(server.url);

const listOf = async (path: string): Promise<Json[]> => (await client.get(path)).body as Json[];

/** The nodes and links of the project, opened in its folder and imported. */
async function bothWays(name: string, lab: OlderLab): Promise<{ nodes: Json[]; links: Json[] }[]> {
  placeOlder(projects, name, lab);
  await client.expect(200, 'POST', '/v2/reload');
  const copy = randomUUID();
  const archive = plainArchive({ 'project.gns3': lab.text });
  const imported = await client.request('POST', importPath(copy), archive);
  if (imported.status !== 201) throw new Error(imported.text);
  return Promise.all(
    [lab.id, copy].map(async (id) => {
      await client.expect(201, 'POST', `/v2/projects/${id}/open`);
      const path = `/v2/projects/${id}`;
      return { nodes: await listOf(`${path}/nodes`), links: await listOf(`${path}/links`) };
    }),
  );
}

const namesOf = (nodes: readonly Json[]): unknown[] => nodes.map(({ name }) => name);

void t.test('two nodes of one name stay two', async (t) => {
  const twins = [firstNode('VPCSDevice', 'PC1'), firstNode('VPCSDevice', 'PC1')];
  const hubs = [secondNode('ethernet_hub', 'HUB'), secondNode('ethernet_hub', 'HUB')];
  for (const lab of [firstLab(3, { nodes: twins }), secondLab(6, { nodes: hubs })]) {
    for (const { nodes } of await bothWays(`twins-${lab.id}`, lab)) {
      const [one, two] = nodes;
      t.equal(one?.['name'], two?.['name']);
      t.not(one?.['node_id'], two?.['node_id']);
    }
  }
});

void t.test('the second of two nodes with one id gets another, and links find both', async (t) => {
  const vm_id = randomUUID();
  const one = firstNode('VPCSDevice', 'PC1', { vm_id });
  const two = firstNode('VPCSDevice', 'PC2', { vm_id });
  const lab = firstLab(2, { nodes: [one, two], links: [firstLink([one, 0], [two, 0])] });
  for (const { nodes, links } of await bothWays('same-id', lab)) {
    t.strictSame(namesOf(nodes), ['PC1', 'PC2']);
    const ends = (links[0]?.['nodes'] as Json[]).map(({ node_id: id }) => id);
    t.strictSame(
      ends,
      nodes.map(({ node_id: id }) => id),
    );
    t.not(ends[0], ends[1]);
  }
});

void t.test(
  'links that no server would make, two at a port or from a node to itself, are shown',
  async (t) => {
    const [a, b] = [firstNode('VPCSDevice', 'A'), firstNode('VPCSDevice', 'B')];
    const first = [firstLink([a, 0], [b, 0]), firstLink([b, 0], [a, 0]), firstLink([b, 0], [b, 0])];
    const [x, y] = [secondNode('vpcs', 'X'), secondNode('vpcs', 'Y')];
    const second = [secondLink([x, 0], [y, 0]), secondLink([y, 0], [x, 0]), secondLink([x, 0], [x, 0])];
    const labs = [
      firstLab(4, { nodes: [a, b], links: first }),
      secondLab(7, { nodes: [x, y], links: second }),
    ];
    for (const lab of labs) {
      for (const { nodes, links } of await bothWays(`links-${lab.id}`, lab)) {
        t.equal(links.length, 3);
        t.strictSame(
          nodes.map(({ ports }) => (ports as Json[]).length),
          [1, 1],
        );
      }
    }
  },
);

void t.test(
  'a node without a label or ports, of a server that is not named, with unknown keys',
  async (t) => {
    const bare = { id: 1, type: 'EthernetHub', properties: {}, ports: [], x: 1, y: 1 };
    const lost = firstNode('VPCSDevice', 'PC', { server_id: 99, future: { of: 'it' } });
    for (const { nodes } of await bothWays('little', firstLab(1, { nodes: [bare, lost] }))) {
      t.match(nodes, [
        { name: 'Node1', node_type: 'ethernet_hub', ports: [], compute_id: 'local' },
        { name: 'PC', node_type: 'vpcs', compute_id: 'local' },
      ]);
    }
  },
);

void t.test('a folder with two files is the project of the one that has its name', async (t) => {
  const [one, two] = [firstLab(4, {}), firstLab(4, {})];
  const { folder } = placeOlder(projects, 'pair', one);
  writeFileSync(join(folder, 'other.gns3'), two.text);
  await client.expect(200, 'POST', '/v2/reload');
  const ids = (await listOf('/v2/projects')).map(({ project_id: id }) => id);
  t.ok(ids.includes(one.id));
  t.notOk(ids.includes(two.id));
  t.equal(readFileSync(join(folder, 'other.gns3'), 'utf8'), two.text);
});
