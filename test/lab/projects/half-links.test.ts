/** Links that another program has left with one end: they go when their project opens, and from its file as well. */
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import t from 'tap';
import { Client } from '../../support/client.js';
import { eventually } from '../../support/eventually.js';
import { NodeLab, type Json } from '../../support/node-lab.js';
import { startServer, type ServerProcess } from '../../support/server-process.js';

interface Gns3File {
  readonly topology: { readonly links: { nodes: unknown[] }[]; readonly nodes: unknown[] };
}

function contentOf(file: string): Gns3File {
  return JSON.parse(readFileSync(file, 'utf8')) as Gns3File;
}

/** A closed project whose file another program has left with half a link. */
async function halved(server: ServerProcess): Promise<{ lab: NodeLab; file: string }> {
  const lab = await NodeLab.left('halved', server);
  const switches: Json[] = [];
  for (const name of ['S1', 'S2', 'S3']) switches.push(await lab.node('ethernet_switch', name));
  const [first = {}, second = {}, third = {}] = switches;
  await lab.link([first, 0], [second, 0]);
  await lab.link([second, 1], [third, 0]);
  const { path, filename } = await lab.client.expect(200, 'GET', lab.path);
  await lab.client.expect(204, 'POST', `${lab.path}/close`, {});
  const file = join(String(path), String(filename));
  const content = contentOf(file);
  content.topology.links[0]?.nodes.pop();
  writeFileSync(file, JSON.stringify(content));
  return { lab, file };
}

function wholeLinks(file: string): number[] {
  return contentOf(file).topology.links.map(({ nodes }) => nodes.length);
}

void t.test('half a link goes from the file without a further change', async (t) => {
  const server = await startServer(t);
  const { lab, file } = await halved(server);
  t.same(wholeLinks(file).sort(), [1, 2]);
  await lab.client.expect(201, 'POST', `${lab.path}/open`, {});
  t.equal(((await lab.client.get(`${lab.path}/links`)).body as unknown[]).length, 1);
  await eventually('the file has no half link', () => wholeLinks(file).length === 1 || undefined);
  t.same(wholeLinks(file), [2]);
  t.equal(contentOf(file).topology.nodes.length, 3);
});

void t.test('it goes after a server that was killed at the opening, too', async (t) => {
  const server = await startServer(t);
  const { lab, file } = await halved(server);
  await lab.client.expect(201, 'POST', `${lab.path}/open`, {});
  await server.stop('SIGKILL');
  const next = await startServer(t, { data: server.data });
  await eventually('the file has no half link', () => wholeLinks(file).length === 1 || undefined);
  const again = new Client(next.url);
  await again.expect(201, 'POST', `${lab.path}/open`, {});
  t.equal(((await again.get(`${lab.path}/links`)).body as unknown[]).length, 1);
});
