/** Snapshots of GNS3 1, which were folders in the project's files: listed, restored, exported and deleted over HTTP. */
import { randomUUID } from 'node:crypto';
import { existsSync, mkdirSync, readdirSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import t from 'tap';
import { Client, resultOf } from '../support/client.js';
import type { Json } from '../support/gns3-project.js';
import { firstLab, firstLink, firstNode, placeOlder } from '../support/older-projects.js';
import { importPath } from '../support/project-archive-lab.js';
import { scratchFolder } from '../support/scratch.js';
import { startServer } from '../support/server-process.js';
import { plainArchive } from '../support/zip-archives.js';

const data = scratchFolder(t);
const projects = join(data, 'projects');
mkdirSync(projects);
const server = await startServer(t, { data });
const client = new Client(server.url);
const BEFORE = 'before_250316_101112';
const AFTER = 'a_b_260316_000000';

/** A project of a VPCS and a hub; in its snapshots the VPCS is alone, and another text is in its file. */
function firstProject(): {
  readonly pc: Json;
  readonly id: string;
  readonly files: Record<string, string>;
  readonly text: string;
} {
  const pc = firstNode('VPCSDevice', 'PC1', { properties: { startup_script_path: 'startup.vpc' } });
  const hub = firstNode('EthernetHub', 'HUB1', {}, [{ port_number: 1 }]);
  const now = firstLab(4, { nodes: [pc, hub], links: [firstLink([pc, 0], [hub, 0])] });
  const then = firstLab(4, { nodes: [pc] }, { project_id: now.id });
  const script = `project-files/vpcs/${String(pc['vm_id'])}/startup.vpc`;
  const inSnapshot = (name: string): Record<string, string> => ({
    [`project-files/snapshots/${name}/lab.gns3`]: then.text,
    [`project-files/snapshots/${name}/${script}`]: `echo ${name}\n`,
    [`project-files/snapshots/${name}/instructions.txt`]: name,
  });
  const files = { [script]: 'echo now\n', ...inSnapshot(BEFORE), ...inSnapshot(AFTER) };
  return { pc, id: now.id, files, text: now.text };
}

async function opened(name: string): Promise<{ folder: string; lab: string; pc: Json }> {
  const { pc, id, files, text } = firstProject();
  const { folder } = placeOlder(projects, name, { id, text }, files);
  await client.expect(200, 'POST', '/v2/reload');
  await client.expect(201, 'POST', `/v2/projects/${id}/open`);
  return { folder, lab: `/v2/projects/${id}`, pc };
}

const listOf = async (path: string): Promise<Json[]> => (await client.get(path)).body as Json[];
const names = (list: readonly Json[]): unknown[] => list.map(({ name }) => name);

void t.test('they are listed with their names and times, described and compared', async (t) => {
  const { lab, folder } = await opened('listed');
  const list = await listOf(`${lab}/snapshots`);
  t.match(list, [
    {
      name: 'before',
      created_at: Date.UTC(2016, 2, 25, 10, 11, 12) / 1000,
      description: "Snapshot 'before' taken on 2016-03-25 at 10:11:12",
      filename: `${BEFORE}.gns3project`,
    },
    { name: 'a_b' },
  ]);
  t.equal(list.length, 2);
  t.match((await client.get(`${lab}/stats`)).body, { snapshots: 2 });
  t.notOk(existsSync(join(folder, 'project-files/snapshots', BEFORE)), 'they lie beside the files');
  const at = `${lab}/snapshots/${String(list[0]?.['snapshot_id'])}`;
  const details = await client.expect(200, 'GET', at);
  t.match(details, { form: 'gns3', state: 'whole' });
  t.ok(Number(details['size']) > 500, 'with the length of their files');
  t.match(await resultOf(client, 'POST', `${at}/verify`), { damaged: [] });
  t.match(await client.expect(200, 'GET', `${at}/diff`), {
    nodes: { added: [/./], removed: [], changed: [] },
    files: { changed: [/startup\.vpc$/] },
  });
  t.strictSame(await listOf(`${lab}/snapshots`), list, 'one that was read has the same id');
  t.match((await client.get(`${lab}/stats`)).body, { snapshots: 2 });
});

void t.test('a restore gives back nodes and files; another one is restored after it', async (t) => {
  const { lab, pc, folder } = await opened('restored');
  const script = `${lab}/nodes/${String(pc['vm_id'])}/files/startup.vpc`;
  t.equal((await client.get(script)).text, 'echo now\n');
  for (const { snapshot_id: id, filename } of await listOf(`${lab}/snapshots`)) {
    await client.expect(201, 'POST', `${lab}/snapshots/${String(id)}/restore`);
    t.match(await listOf(`${lab}/nodes`), [{ name: 'PC1', node_id: pc['vm_id'] }]);
    t.strictSame(await listOf(`${lab}/links`), []);
    t.equal((await client.get(script)).text, `echo ${String(filename).replace('.gns3project', '')}\n`);
    t.ok(existsSync(join(folder, 'README.txt')), 'files lie where they do today');
  }
  t.strictSame(names(await listOf(`${lab}/snapshots`)), ['before', 'a_b']);
});

void t.test('a deletion removes the folder, or the archive that was made of it', async (t) => {
  const { lab, folder } = await opened('deleted');
  const [first, second] = await listOf(`${lab}/snapshots`);
  const at = (snapshot: Json | undefined): string => `${lab}/snapshots/${String(snapshot?.['snapshot_id'])}`;
  await client.expect(204, 'DELETE', at(first));
  t.strictSame(names(await listOf(`${lab}/snapshots`)), ['a_b']);
  await resultOf(client, 'POST', `${at(second)}/verify`);
  t.ok(existsSync(join(folder, 'snapshots', `${AFTER}.gns3project`)));
  await client.expect(204, 'DELETE', at(second));
  t.strictSame(
    readdirSync(join(folder, 'snapshots')).filter((name) => name !== '.work'),
    [],
  );
  t.match((await client.get(`${lab}/stats`)).body, { snapshots: 0 });
});

void t.test('copies, exports and imports have them', async (t) => {
  const { lab } = await opened('copied');
  const copy = await client.expect(201, 'POST', `${lab}/duplicate`, { name: 'copy of it' });
  t.strictSame(names(await listOf(`/v2/projects/${String(copy['project_id'])}/snapshots`)), [
    'before',
    'a_b',
  ]);
  const exported = await fetch(`${server.url}${lab}/export?include_snapshots=yes`);
  const archives: Uint8Array[] = [new Uint8Array(await exported.arrayBuffer())];
  const { text, files } = firstProject();
  archives.push(plainArchive({ 'project.gns3': text, ...files }));
  for (const archive of archives) {
    const id = randomUUID();
    t.equal((await client.request('POST', importPath(id), archive)).status, 201);
    await client.expect(201, 'POST', `/v2/projects/${id}/open`);
    const list = await listOf(`/v2/projects/${id}/snapshots`);
    t.strictSame(names(list), ['before', 'a_b']);
    const [before] = list;
    await client.expect(
      201,
      'POST',
      `/v2/projects/${id}/snapshots/${String(before?.['snapshot_id'])}/restore`,
    );
    const [pc, ...others] = await listOf(`/v2/projects/${id}/nodes`);
    t.strictSame(names(others), []);
    const script = await client.get(`/v2/projects/${id}/nodes/${String(pc?.['node_id'])}/files/startup.vpc`);
    t.equal(script.text, `echo ${BEFORE}\n`);
  }
});

void t.test('a folder without a topology file is none; links in one are not followed', async (t) => {
  const { id, text, files } = firstProject();
  const outside = scratchFolder(t);
  writeFileSync(join(outside, 'secret'), 'secret');
  const { folder } = placeOlder(
    projects,
    'planted',
    { id, text },
    {
      ...files,
      'project-files/snapshots/empty_010203_040506/notes.txt': 'a note',
      'project-files/snapshots/broken_020203_040506/x.gns3': '{',
    },
  );
  symlinkSync(outside, join(folder, 'project-files/snapshots/linked_030203_040506'));
  symlinkSync(
    join(outside, 'secret'),
    join(folder, 'project-files/snapshots', BEFORE, 'project-files/secret'),
  );
  await client.expect(200, 'POST', '/v2/reload');
  await client.expect(201, 'POST', `/v2/projects/${id}/open`);
  const lab = `/v2/projects/${id}`;
  const list = await listOf(`${lab}/snapshots`);
  t.strictSame(names(list), ['broken', 'before', 'a_b']);
  const [broken, before] = list;
  const restore = (one: Json | undefined): ReturnType<Client['post']> =>
    client.post(`${lab}/snapshots/${String(one?.['snapshot_id'])}/restore`);
  t.match(await restore(broken), { status: 409, body: { code: 'snapshot_damaged' } });
  t.equal((await listOf(`${lab}/nodes`)).length, 2, 'nothing has changed');
  t.equal((await restore(before)).status, 201);
  t.notOk(existsSync(join(folder, 'project-files/secret')));
});
