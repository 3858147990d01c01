/** Projects that come and go as archives and duplicates while something goes wrong. */
import { randomUUID } from 'node:crypto';
import { existsSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import t from 'tap';
import { asideNames } from '../../support/aside-folders.js';
import { Client } from '../../support/client.js';
import { eventually } from '../../support/eventually.js';
import { writeFiles } from '../../support/file-trees.js';
import { importPath, projectArchive, sendArchive } from '../../support/project-archive-lab.js';
import { RandomBytes } from '../../support/random.js';
import { RawConnection } from '../../support/raw-client.js';
import { startServer, type ServerProcess } from '../../support/server-process.js';
import { fillDisk, NO_MOUNT, smallDisk } from '../../support/small-disk.js';
import { zipArchive } from '../../support/zip-archives.js';

const MEGABYTE = 1024 * 1024;
const environment = { WIREFARM_LOG_LEVEL: 'warn' };

interface Made {
  readonly id: string;
  readonly folder: string;
  readonly path: string;
}

/** With many small files and a large one. */
async function filledProject(client: Client, name: string, bytes = 8 * MEGABYTE): Promise<Made> {
  const made = await client.expect(201, 'POST', '/v2/projects', { name, auto_close: false });
  const folder = String(made['path']);
  const small = Array.from({ length: 300 }, (_, index) => [`project-files/f${index}`, `content ${index}`]);
  writeFiles(folder, {
    ...(Object.fromEntries(small) as Record<string, string>),
    'project-files/large': new RandomBytes(3).next(bytes),
  });
  return { id: String(made['project_id']), folder, path: `/v2/projects/${String(made['project_id'])}` };
}

/** Everything beside the projects, except the folder that uploads go through. */
function leftovers({ data }: Pick<ServerProcess, 'data'>): string[] {
  return asideNames(data).filter((name) => name !== 'incoming/tmp');
}

void t.test('a full disk is told, and nothing is left', async (t) => {
  const data = smallDisk(t, 64 * 1024);
  if (data === undefined) {
    t.comment(NO_MOUNT);
    return;
  }
  const server = await startServer(t, { data, environment });
  const client = new Client(server.url);
  const { path } = await filledProject(client, 'original', 6 * MEGABYTE);
  const archive = Buffer.from(
    await (await fetch(`${server.url}${path}/export?compression=none`)).arrayBuffer(),
  );
  const release = fillDisk(data, 5 * MEGABYTE);
  const projects = (await client.get('/v2/projects')).text;
  t.equal((await client.post(`${path}/duplicate`, {})).status, 507);
  t.equal((await sendArchive(client, archive)).status, 507);
  t.same(leftovers(server), []);
  t.equal((await client.get('/v2/projects')).text, projects);
  release();
  t.equal((await client.post(`${path}/duplicate`, {})).status, 201);
  t.equal((await sendArchive(client, archive)).status, 201);
});

void t.test('an archive that promises more than there is room for is refused at once', async (t) => {
  const server = await startServer(t, { environment });
  const claims = { size: 0xffff_fff0 };
  const bomb = zipArchive([
    { name: 'project.gns3', content: '{}' },
    { name: 'bomb', content: 'abc', method: 8, claims },
  ]);
  t.equal((await sendArchive(new Client(server.url), bomb)).status, 409);
  t.same(leftovers(server), []);
});

void t.test('clients that vanish while they send leave nothing', async (t) => {
  const server = await startServer(t, { environment });
  const archive = projectArchive({}, { large: new RandomBytes(4).next(4 * MEGABYTE) });
  for (const sent of [0, 10, 100_000, archive.length - 1]) {
    const connection = await RawConnection.open(server.port);
    const headers = { 'Content-Length': String(archive.length) };
    connection.send('POST', importPath(randomUUID()), { headers });
    connection.write(archive.subarray(0, sent));
    await new Client(server.url).get('/v2/version');
    connection.vanish();
  }
  await eventually('nothing is left', () => {
    const incoming = join(server.data, 'projects', '.wirefarm', 'incoming');
    const left = existsSync(incoming) ? readdirSync(incoming, { recursive: true, withFileTypes: true }) : [];
    return left.every((entry) => entry.isDirectory()) || undefined;
  });
  t.equal((await new Client(server.url).get('/v2/projects')).text, '[]');
});

void t.test('clients that do not read keep nobody from an export', async (t) => {
  const server = await startServer(t, { environment });
  const client = new Client(server.url);
  const { path, folder } = await filledProject(client, 'slow', 16 * MEGABYTE);
  const work = join(folder, 'snapshots/.work');
  const slow = await Promise.all(
    Array.from({ length: 63 }, async () => {
      const connection = await RawConnection.open(server.port);
      connection.socket.pause();
      connection.send('GET', `${path}/export?compression=none`);
      return connection;
    }),
  );
  await eventually(
    'all have begun',
    () => (existsSync(work) && readdirSync(work).length === 63) || undefined,
  );
  const whole = await fetch(`${server.url}${path}/export`);
  t.equal(whole.status, 200);
  t.ok((await whole.arrayBuffer()).byteLength > 16 * MEGABYTE);
  for (const connection of slow) connection.vanish();
  await eventually('nothing is left', () => readdirSync(work).length === 0 || undefined);
  t.equal(server.log(), '');
});

void t.test('an export has the uploads of one moment, whatever is uploaded meanwhile', async (t) => {
  const server = await startServer(t, { environment });
  const client = new Client(server.url);
  const { path } = await filledProject(client, 'changing', MEGABYTE);
  const state = { isOver: false };
  // The second is written when the first is there: an export never has a newer second one.
  const writing = (async () => {
    for (let round = 1; !state.isOver; round++) {
      for (const name of ['first', 'second']) {
        await client.expect(
          201,
          'POST',
          `${path}/files/${name}`,
          Buffer.alloc(100_000, String(round)).fill(`${round} `),
        );
      }
    }
  })();
  for (let round = 0; round < 10; round++) {
    const zip = Buffer.from(
      await (await fetch(`${server.url}${path}/export?compression=none`)).arrayBuffer(),
    );
    const of = (name: string): number => {
      const at = zip.indexOf(name);
      return at < 0
        ? 0
        : Number.parseInt(zip.toString('latin1', at + name.length, at + name.length + 12), 10);
    };
    t.ok(of('second') <= of('first') && of('second') >= of('first') - 1);
  }
  state.isOver = true;
  await writing;
});

void t.test('a project that is deleted breaks its exports off', async (t) => {
  const server = await startServer(t, { environment });
  const client = new Client(server.url);
  const { path, folder } = await filledProject(client, 'deleted', 32 * MEGABYTE);
  const connection = await RawConnection.open(server.port);
  connection.send('GET', `${path}/export?compression=none`);
  await connection.head();
  connection.socket.pause();
  await client.expect(204, 'DELETE', path);
  connection.socket.resume();
  await connection.closed();
  t.notOk(existsSync(folder));
});
