/** Snapshots that lie in a project's folder and were made by somebody else than the server; and what a stop leaves. */
import { randomUUID } from 'node:crypto';
import { existsSync, mkdirSync, readdirSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import t from 'tap';
import type { ContentTree } from '../../src/snapshots/content/content-tree.js';
import { publishManifest, readManifest } from '../../src/snapshots/content/manifest.js';
import { Client } from '../support/client.js';
import { eventually } from '../support/eventually.js';
import { folderContent, namesIn } from '../support/folder-content.js';
import { LinkLab, type Json } from '../support/link-lab.js';
import { RawConnection } from '../support/raw-client.js';
import { startServer } from '../support/server-process.js';
import { SnapshotLab } from '../support/snapshot-lab.js';

const server = await startServer(t);
const client = new Client(server.url);
const host = { client, url: server.url };
const EMPTY = { folders: [], files: [], links: [] };
const MODE = 0o755;
const MEGABYTE = 1024 * 1024;

/** A snapshot like the real one, but with this tree. */
function plant(lab: SnapshotLab, kept: Json, tree: ContentTree): Json {
  const folder = join(lab.folder, 'snapshots');
  const { head, topology } = readManifest(folder, String(kept['snapshot_id']));
  const id = randomUUID();
  const snapshot = { ...head.snapshot, snapshot_id: id, name: id };
  publishManifest(folder, { ...head, snapshot }, topology, tree);
  return { snapshot_id: id };
}

const HOSTILE: Readonly<Record<string, ContentTree>> = {
  'a folder called tmp': { ...EMPTY, folders: [{ path: 'tmp', mode: MODE }] },
  'a folder called snapshots': { ...EMPTY, folders: [{ path: 'snapshots', mode: MODE }] },
  'a folder called Snapshots': { ...EMPTY, folders: [{ path: 'Snapshots', mode: MODE }] },
  'a folder called .wirefarm': { ...EMPTY, folders: [{ path: '.wirefarm', mode: MODE }] },
  'a topology file': { ...EMPTY, links: [{ path: 'planted.gns3', target: 'x' }] },
  'a link called tmp': { ...EMPTY, links: [{ path: 'tmp', target: 'x' }] },
  'a link to the root': { ...EMPTY, links: [{ path: 'evil', target: '/etc' }] },
  'a link out': { ...EMPTY, links: [{ path: 'evil', target: '../../x' }] },
  'a link that goes up again': { ...EMPTY, links: [{ path: 'evil', target: 'a/../../x' }] },
};

void t.test('a planted snapshot is refused, and the project stays usable', async (t) => {
  const lab = await SnapshotLab.make(host);
  const hub = await lab.lab.hub();
  await lab.write(hub, 'disk', 'content');
  const kept = await lab.take('kept');
  // The topology file is written behind the answers, and by a closing for sure.
  await client.expect(204, 'POST', `${lab.path}/close`);
  await client.expect(201, 'POST', `${lab.path}/open`);
  const before = folderContent(lab.folder, ['snapshots']);
  for (const [name, tree] of Object.entries(HOSTILE)) {
    const planted = plant(lab, kept, tree);
    const { status, text } = await client.post(`${lab.at(planted)}/restore`);
    t.equal(status, 409, `${name}: ${text}`);
    t.notMatch(text, server.data);
    t.same(folderContent(lab.folder, ['snapshots']), before, 'nothing was changed');
    await lab.remove(planted);
  }
  await client.expect(204, 'POST', `${lab.path}/close`);
  await client.expect(201, 'POST', `${lab.path}/open`);
  await lab.restore(kept);
  t.equal((await lab.read(hub, 'disk')).text, 'content');
});

void t.test('links that lead out of the project are left out of a snapshot, and that is told', async (t) => {
  const lab = await SnapshotLab.make(host);
  const hub = await lab.lab.hub();
  await lab.write(hub, 'disk', 'content');
  const folder = `project-files/ethernet_hub/${String(hub['node_id'])}`;
  const links = { inside: 'disk', image: '/images/base', up: '../../../../x', again: 'a/../../x', last: '/' };
  for (const [name, target] of Object.entries(links)) symlinkSync(target, join(lab.folder, folder, name));
  let kept: Json = {};
  const told = await lab.told(async () => {
    kept = await lab.take('kept');
  });
  t.match(told, [
    {
      action: 'log.warning',
      event: {
        message:
          `4 links are not in the snapshot 'kept', because they lead out of the project: ${folder}/again, ` +
          `${folder}/image, ${folder}/last and 1 more. Restoring it removes those that lie in the folders that it gives back`,
      },
    },
  ]);
  t.same(await lab.damaged(kept), []);
  await lab.restore(kept);
  t.same(namesIn(join(lab.folder, folder)).sort(), ['disk', 'inside'], 'the link that stays inside is kept');
  t.same(await lab.told(() => lab.take('again')), [], 'nothing is left out of the next one');
});

void t.test(
  'an export keeps nothing that it relies on where clients lead, and a stop leaves nothing',
  async (t) => {
    const own = await startServer(t);
    const its = { client: new Client(own.url), url: own.url };
    const lab = await SnapshotLab.make(its);
    await its.client.expect(201, 'POST', `${lab.path}/files/large`, Buffer.alloc(32 * MEGABYTE, 'x'));
    const work = join(lab.folder, 'snapshots/.work');
    const notes = join(own.data, 'projects/.wirefarm/work');
    const slow = await RawConnection.open(own.port);
    slow.socket.pause();
    slow.send('GET', `${lab.path}/export?compression=none`);
    const [job = ''] = await eventually('the export has begun', () => {
      const found = namesIn(notes);
      return found.length === 1 && existsSync(join(notes, found[0] ?? '', 'project.plan'))
        ? found
        : undefined;
    });
    t.same(readdirSync(work), [job]);
    t.same(readdirSync(join(work, job)), ['held'], 'only what the project has itself');
    const listed = await its.client.get(`/v2/compute/projects/${lab.lab.id}/files`);
    if (listed.status === 200) t.notMatch(listed.text, job);
    t.equal(await own.stop(), 0);
    t.same([...namesIn(work), ...namesIn(notes)], []);
    t.notMatch(own.log(), /AbortError|cannot be removed/);
  },
);

void t.test('files that an earlier server has left are removed at the start', async (t) => {
  const lab = await LinkLab.make(host);
  const { path } = await client.expect(200, 'GET', lab.path);
  await client.expect(204, 'POST', `${lab.path}/close`);
  t.equal(await server.stop(), 0);
  const old = join(String(path), 'snapshots/.work', randomUUID());
  const notes = join(server.data, 'projects/.wirefarm/work', randomUUID());
  for (const folder of [old, notes]) {
    mkdirSync(join(folder, 'held'), { recursive: true });
    writeFileSync(join(folder, 'project.plan'), '{}');
  }
  const second = await startServer(t, { data: server.data });
  t.notOk(existsSync(old));
  t.notOk(existsSync(notes));
  await new Client(second.url).expect(201, 'POST', `${lab.path}/open`);
});
