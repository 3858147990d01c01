/** A topology holds so many objects and no more, however they come. */
import { randomUUID } from 'node:crypto';
import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import t from 'tap';
import { asideNames, projectFolders } from '../../support/aside-folders.js';
import { Client } from '../../support/client.js';
import { gns3Drawing, gns3Node, placeGns3Project } from '../../support/gns3-project.js';
import { projectArchive, sendArchive } from '../../support/project-archive-lab.js';
import { scratchFolder } from '../../support/scratch.js';
import { startServer } from '../../support/server-process.js';

const MOST = 20_000;
const svg = '<svg/>';
const drawings = (count: number): ReturnType<typeof gns3Drawing>[] =>
  Array.from({ length: count }, () => gns3Drawing({ svg }));
const isFull = { status: 409, body: { message: /20000 nodes, links and drawings/ } };

void t.test('an archive with too many objects is refused, and nothing is left', async (t) => {
  const server = await startServer(t);
  const client = new Client(server.url);
  const archive = projectArchive({ content: { drawings: drawings(MOST + 1) } });
  t.match(await sendArchive(client, archive), isFull);
  const long = projectArchive({
    content: { drawings: [1, 2, 3].map(() => gns3Drawing({ svg: `<svg>${'x'.repeat(12_000_000)}</svg>` })) },
  });
  t.match(await sendArchive(client, long), { status: 409, body: { message: /characters together/ } });
  const bomb = projectArchive({ content: { head: { supplier: { logo: 'x'.repeat(70_000_000), url: '' } } } });
  t.equal((await sendArchive(client, bomb)).status, 409);
  t.equal((await client.get('/v2/projects')).text, '[]');
  t.same(
    [...projectFolders(server.data), ...asideNames(server.data)].filter((name) => name !== 'incoming/tmp'),
    [],
  );
  t.equal(await server.stop(), 0);
});

void t.test('a full project opens, and takes another object only for one that goes', async (t) => {
  const data = scratchFolder(t);
  mkdirSync(join(data, 'projects'), { recursive: true });
  const node = gns3Node('ethernet_switch', { name: 'S1', console: null });
  const content = { nodes: [node], drawings: drawings(MOST - 1), head: { auto_close: false } };
  const { id } = placeGns3Project(join(data, 'projects'), 'full', content);
  const over = placeGns3Project(join(data, 'projects'), 'over', { drawings: drawings(MOST + 1) });
  const server = await startServer(t, { data });
  const client = new Client(server.url);
  t.match(await client.post(`/v2/projects/${over.id}/open`), isFull);
  const base = `/v2/projects/${id}`;
  await client.expect(201, 'POST', `${base}/open`);
  const another = { name: 'S2', node_type: 'ethernet_switch', compute_id: 'local' };
  t.match(await client.post(`${base}/drawings`, { svg }), isFull);
  t.match(await client.post(`${base}/nodes`, another), isFull);
  t.match(await client.post(`${base}/nodes/${node.node_id}/duplicate`, { x: 0, y: 0, z: 0 }), isFull);
  t.match(await client.expect(200, 'GET', `${base}/stats`), { nodes: 1, drawings: MOST - 1 });
  const gone = content.drawings[0]?.drawing_id ?? randomUUID();
  await client.expect(204, 'DELETE', `${base}/drawings/${gone}`);
  await client.expect(201, 'POST', `${base}/nodes`, another);
  t.match(await client.post(`${base}/drawings`, { svg }), isFull);
  t.equal(await server.stop(), 0);
});
