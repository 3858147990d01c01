/** Where projects lie, and how they go: no two share a folder, and one that is going is not answered as if it were there. */
import { randomUUID } from 'node:crypto';
import { existsSync, mkdirSync, readdirSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import t, { type Test } from 'tap';
import { Client } from '../support/client.js';
import { dropPlan, FAULTS, layPlan } from '../support/fault-plan.js';
import { placeGns3Project } from '../support/gns3-project.js';
import { NotificationLog } from '../support/notification-log.js';
import { scratchFolder } from '../support/scratch.js';
import { startServer } from '../support/server-process.js';
import { fillDisk, NO_MOUNT, smallDisk } from '../support/small-disk.js';

const INJECTION = new URL('../support/fault-injection.js', import.meta.url).href;

async function made(client: Client, wanted: object): Promise<{ id: string; base: string; folder: string }> {
  const { project_id: id, path } = await client.expect(201, 'POST', '/v2/projects', wanted);
  return { id: String(id), base: `/v2/projects/${String(id)}`, folder: String(path) };
}

async function withNode(client: Client, base: string): Promise<void> {
  const node = { name: 'S1', node_type: 'ethernet_switch', compute_id: 'local' };
  await client.expect(201, 'POST', `${base}/nodes`, node);
}

async function listed(client: Client): Promise<unknown[]> {
  return ((await client.get('/v2/projects')).body as { project_id: string }[]).map((one) => one.project_id);
}

void t.test('an id that is going is made anew when it has gone', async (t) => {
  const server = await startServer(t);
  const client = new Client(server.url);
  const events = await NotificationLog.open(`${server.url}/v2/notifications`);
  const id = randomUUID();
  const first = await made(client, { name: 'first', project_id: id });
  for (let folder = 0; folder < 40; folder++) {
    const path = join(first.folder, 'project-files', `d${folder}`);
    mkdirSync(path, { recursive: true });
    for (let file = 0; file < 300; file++) writeFileSync(join(path, `f${file}`), '');
  }
  const deletion = client.delete(first.base);
  await events.next(({ action }) => action === 'project.deleted');
  t.same(await listed(client), [], 'it is not listed from then on, though its files are still being removed');
  const second = await made(client, { name: 'second', project_id: id });
  await withNode(client, second.base);
  t.equal((await deletion).status, 204);
  t.same(await listed(client), [id], 'what was acknowledged is there');
  t.equal(((await client.get(`${second.base}/nodes`)).body as unknown[]).length, 1);
  t.ok(existsSync(join(second.folder, 'second.gns3')));
  t.same(
    readdirSync(join(server.data, 'projects', '.wirefarm', 'deleted')),
    [],
    'and nothing is left of the other',
  );
  events.close();
  await server.stop('SIGKILL');
  const again = new Client((await startServer(t, { data: server.data })).url);
  t.same(await listed(again), [id]);
  await again.expect(201, 'POST', `${second.base}/open`);
  t.equal(((await again.get(`${second.base}/nodes`)).body as unknown[]).length, 1);
});

void t.test('no project gets a folder that another has, lies in or holds', async (t) => {
  const server = await startServer(t, { flags: ['--local'] });
  const client = new Client(server.url);
  const outside = scratchFolder(t);
  const projects = join(server.data, 'projects');
  const inside = await made(client, { name: 'inside' });
  const other = await made(client, { name: 'other', path: join(outside, 'other') });
  const moving = await made(client, { name: 'moving', path: join(outside, 'moving') });
  const linked = join(outside, 'linked');
  symlinkSync(inside.folder, linked);
  const taken = [
    inside.folder,
    other.folder,
    join(other.folder, 'deeper'),
    outside,
    linked,
    join(linked, 'deeper'),
    projects,
    server.data,
    '/',
    join(projects, '.wirefarm'),
    join(projects, 'some', 'where'),
  ];
  for (const path of taken) {
    const put = await client.put(moving.base, { path });
    t.ok(put.status === 409 || put.status === 403, `PUT ${path}: ${put.status}`);
    const post = await client.post('/v2/projects', { name: 'new', project_id: randomUUID(), path });
    t.ok(post.status === 409 || post.status === 403, `POST ${path}: ${post.status}`);
  }
  const shared = await client.put(moving.base, { path: other.folder });
  t.match(shared, { status: 409, body: { message: /other/ } }, 'the other project is named');
  t.equal((await client.get(moving.base)).text, (await client.get(moving.base)).text);
  t.match((await client.get(moving.base)).body, { path: moving.folder }, 'it lies where it lay');
  const { path: file } = placeGns3Project(other.folder, 'within', {}, randomUUID(), 'within');
  t.equal((await client.post('/v2/projects/load', { path: file })).status, 409, 'nor does a loaded one');
  await client.expect(200, 'PUT', moving.base, { path: join(projects, 'moved') });
  t.equal((await client.delete(moving.base)).status, 204);
  for (const { folder } of [inside, other]) t.ok(existsSync(folder), folder);
  t.equal(await server.stop(), 0);
});

void t.test('a deletion that fails changes nothing', async (t) => {
  const faults = scratchFolder(t);
  const environment = { NODE_OPTIONS: `--import=${INJECTION}`, [FAULTS]: faults };
  const server = await startServer(t, { environment });
  const client = new Client(server.url);
  const lab = await made(client, { name: 'lab', auto_close: false });
  await withNode(client, lab.base);
  await client.request('POST', `${lab.base}/files/kept.txt`, 'content');
  const before = (await client.get('/v2/projects')).text;
  let refusals = 0;
  for (const mode of ['EIO', 'ENOSPC'] as const) {
    for (let at = 1; at <= 6; at++) {
      layPlan(faults, { run: `${mode}-${at}`, of: 'changes', at, mode });
      const reply = await client.delete(lab.base);
      dropPlan(faults);
      if (reply.status === 204) {
        await client.expect(201, 'POST', '/v2/projects', {
          name: 'lab',
          project_id: lab.id,
          auto_close: false,
        });
        await withNode(client, lab.base);
        await client.request('POST', `${lab.base}/files/kept.txt`, 'content');
        continue;
      }
      refusals++;
      const where = `${mode} ${at}: ${reply.status}`;
      t.equal((await client.get('/v2/projects')).text, before, where);
      t.equal((await client.get(`${lab.base}/files/kept.txt`)).text, 'content', where);
      t.equal(((await client.get(`${lab.base}/nodes`)).body as unknown[]).length, 1, where);
      const node = { name: 'S1', node_type: 'ethernet_switch', compute_id: 'local' };
      const more = await client.expect(201, 'POST', `${lab.base}/nodes`, node);
      await client.expect(204, 'DELETE', `${lab.base}/nodes/${String(more['node_id'])}`);
    }
  }
  t.ok(refusals >= 4, `${refusals} were refused`);
  t.equal((await client.delete(lab.base)).status, 204);
  t.same(await listed(client), []);
  t.equal(await server.stop(), 0);
});

void t.test('a store that is full, on another disk, costs no project its files', async (t: Test) => {
  const state = smallDisk(t, 1200);
  if (state === undefined) {
    t.comment(NO_MOUNT);
    return;
  }
  const server = await startServer(t, { flags: ['--state', join(state, 'state')] });
  const client = new Client(server.url);
  const lab = await made(client, { name: 'lab', auto_close: false });
  await client.request('POST', `${lab.base}/files/kept.txt`, 'content');
  fillDisk(state, 0);
  const svg = `<svg>${'x'.repeat(3000)}</svg>`;
  for (let count = 0; count < 300; count++) {
    if ((await client.post(`${lab.base}/drawings`, { svg })).status === 507) break;
  }
  const reply = await client.delete(lab.base);
  if (reply.status === 204) t.same(await listed(client), []);
  else {
    t.equal(reply.status, 507);
    t.same(await listed(client), [lab.id]);
    t.equal((await client.get(`${lab.base}/files/kept.txt`)).text, 'content');
  }
});
