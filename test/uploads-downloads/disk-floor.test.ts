/** Uploads, imports and snapshots leave a disk so much room that labs can be changed, and hold no room ahead of time. */
import { mkdirSync, readdirSync, statfsSync } from 'node:fs';
import { join } from 'node:path';
import t, { type Test } from 'tap';
import { Client, type Reply } from '../support/client.js';
import { eventually } from '../support/eventually.js';
import { IMAGES, putImage, nothingUnfinished, unfinishedImages } from '../support/image-transfers.js';
import { projectArchive, sendArchive } from '../support/project-archive-lab.js';
import { RandomBytes } from '../support/random.js';
import { chunked, RawConnection, requestBytes } from '../support/raw-client.js';
import { startServer, type ServerProcess } from '../support/server-process.js';
import { fillDisk, NO_MOUNT, smallDisk } from '../support/small-disk.js';
import { tarArchive } from '../support/tar-archive.js';
import { image, TusTalk } from '../support/tus.js';

const MEBIBYTE = 1024 * 1024;
const DISK = 96;
const FLOOR = 16;
const LABS = 20;

interface Rig {
  readonly server: ServerProcess;
  readonly client: Client;
  /** The id of a project with a node. */
  readonly project: string;
  readonly node: string;
  readonly disk: string;
  readonly free: () => number;
}

async function rigOn(t: Test, disk: string): Promise<Rig> {
  const data = join(disk, 'data');
  mkdirSync(data);
  const flags = ['--upload-floor', String(FLOOR)];
  const server = await startServer(t, { data, flags, environment: { WIREFARM_LOG_LEVEL: 'error' } });
  const client = new Client(server.url);
  const { project_id: id } = await client.expect(201, 'POST', '/v2/projects', { name: 'lab' });
  const project = `/v2/projects/${String(id)}`;
  const node = await client.expect(201, 'POST', `${project}/nodes`, NODE);
  const free = (): number => statfsSync(disk).bavail * statfsSync(disk).bsize;
  return { server, client, project, node: `${project}/nodes/${String(node['node_id'])}`, disk, free };
}

const NODE = { name: 'R', node_type: 'ethernet_switch', compute_id: 'local' };

async function changeLab({ client, project }: Rig): Promise<void> {
  for (let count = 0; count < LABS; count++) await client.expect(201, 'POST', `${project}/nodes`, NODE);
}

void t.test('a client that announces everything and sends one byte holds next to nothing', async (t) => {
  const disk = smallDisk(t, DISK * 1024);
  if (disk === undefined) {
    t.pass(`# SKIP ${NO_MOUNT}`);
    return;
  }
  const rig = await rigOn(t, disk);
  const before = rig.free();
  const connection = await RawConnection.open(rig.server.port);
  const wanted = before - (FLOOR + 2) * MEBIBYTE;
  connection.write(
    requestBytes('POST', `${IMAGES}/a.img`, { headers: { 'Content-Length': String(wanted) } }),
  );
  connection.write('x');
  await eventually('it has begun', () => unfinishedImages(join(disk, 'data', 'images'))[0]);
  await changeLab(rig);
  t.ok(before - rig.free() < 4 * MEBIBYTE, `${before - rig.free()} bytes are held`);
  t.equal((await putImage(rig.server, 'b.img', new RandomBytes(1).next(2 * MEBIBYTE))).status, 204);
  connection.close();

  const { port } = rig.server;
  const greedy = await RawConnection.open(port);
  const headers = { 'Content-Length': String(rig.free() - FLOOR * MEBIBYTE + 5 * MEBIBYTE) };
  greedy.write(requestBytes('POST', `${IMAGES}/c.img`, { headers }));
  const { status, text } = await greedy.reply('POST');
  t.equal(status, 507, 'what cannot fit above the floor is refused before it comes');
  t.match(text, /leave 16 MiB for the labs/);
  greedy.close();
  t.equal(rig.server.log(), '');
});

void t.test('an upload without a length ends at the floor', async (t) => {
  const disk = smallDisk(t, 48 * 1024);
  if (disk === undefined) {
    t.pass(`# SKIP ${NO_MOUNT}`);
    return;
  }
  const rig = await rigOn(t, disk);
  const connection = await RawConnection.open(rig.server.port);
  const headers = { 'Transfer-Encoding': 'chunked' };
  connection.write(requestBytes('POST', `${IMAGES}/a.img`, { headers }));
  let least = rig.free();
  const watch = setInterval(() => {
    least = Math.min(least, rig.free());
  }, 1);
  connection.write(chunked(new RandomBytes(2).next(40 * MEBIBYTE)));
  const { status, text } = await connection.reply('POST');
  clearInterval(watch);
  t.equal(status, 507);
  t.match(text, /leave 16 MiB for the labs/);
  t.ok(least > (FLOOR - 1) * MEBIBYTE, `${least} bytes were left`);
  connection.close();
  await eventually('its room is free', () => (rig.free() > 20 * MEBIBYTE ? true : undefined));
  await nothingUnfinished(join(disk, 'data', 'images'));
});

void t.test('below the floor nothing comes in, and every lab can be changed', async (t) => {
  const disk = smallDisk(t, 48 * 1024);
  if (disk === undefined) {
    t.pass(`# SKIP ${NO_MOUNT}`);
    return;
  }
  const rig = await rigOn(t, disk);
  const { client, project, node } = rig;
  const tus = new TusTalk(client);
  const small = new RandomBytes(3).next(1000);
  const large = new RandomBytes(4).next(MEBIBYTE);
  await client.expect(201, 'POST', `${node}/files/there`, small);
  const part = await tus.created(2 * MEBIBYTE, image('part.img'));
  const giveBack = fillDisk(disk, (FLOOR - 4) * MEBIBYTE);

  const ways: Readonly<Record<string, () => Promise<Reply>>> = {
    'a small image': () => client.request('POST', `${IMAGES}/s.img`, small),
    'a large image': () => client.request('POST', `${IMAGES}/l.img`, large),
    'a file of a project': () => client.request('POST', `${project}/files/a`, small),
    'a file of a node': () => client.request('POST', `${node}/files/a`, large),
    'an archive of files': () => client.request('POST', `${node}/files.tar`, tarArchive([['a', small]])),
    'a resumable upload': () => tus.begin(1000, image('t.img')),
    'the next part of one': () => tus.patch(part, 0, large),
    'a snapshot with files': () => client.post(`${project}/snapshots`, { name: 'one' }),
    'an import': () => sendArchive(client, projectArchive({}, { 'project-files/a': small })),
  };
  for (const [what, way] of Object.entries(ways)) {
    const { status, text } = await way();
    t.equal(status, 507, what);
    t.match(text, /leave 16 MiB for the labs/, what);
  }
  await changeLab(rig);
  await nothingUnfinished(join(disk, 'data', 'images'));
  t.same(readdirSync(join(disk, 'data', 'projects')).length, 1 + 1, 'projects and what is on its way');

  giveBack();
  for (const [what, way] of Object.entries(ways)) {
    const { status } = await way();
    t.ok(status < 300, `${what}: ${status}`);
  }
});
