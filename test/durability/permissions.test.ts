/** Only the server's user reads the files of a server, and a group reads those that it shares. */
import { chmodSync, lstatSync, mkdirSync, readdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import t, { type Test } from 'tap';
import { Client } from '../support/client.js';
import { scratchFolder } from '../support/scratch.js';
import { startServer, type ServerProcess } from '../support/server-process.js';

const GROUP = 0o070;
const OTHERS = 0o007;
const READ = 0o444;
const PASS = 0o111;

/** The files that can be read by those whose bits these are, who come in by the folder itself. */
function readable(folder: string, bits: number): string[] {
  if ((lstatSync(folder).mode & bits & PASS) === 0) return [];
  return readdirSync(folder, { withFileTypes: true }).flatMap((entry) => {
    const path = join(folder, entry.name);
    if (entry.isDirectory()) return readable(path, bits);
    return (lstatSync(path).mode & bits & READ) === 0 ? [] : [path];
  });
}

function modeOf(...path: readonly string[]): string {
  return (lstatSync(join(...path)).mode & 0o7777).toString(8);
}

/** Something of every sort that is kept. */
async function fill(t: Test, server: ServerProcess, name: string): Promise<void> {
  const client = new Client(server.url);
  const { project_id } = await client.expect(201, 'POST', '/v2/projects', { auto_close: false, name });
  const path = `/v2/projects/${String(project_id)}`;
  const node = { name: 'hub', node_type: 'ethernet_hub', compute_id: 'local' };
  const { node_id } = await client.expect(201, 'POST', `${path}/nodes`, node);
  await client.expect(201, 'POST', `${path}/nodes/${String(node_id)}/files/secret.cfg`, 'enable secret');
  await client.expect(204, 'POST', '/v2/compute/iou/images/disk.img', 'an image');
  await client.expect(201, 'POST', `${path}/snapshots`, { name: 'one' });
  const compute = { protocol: 'http', host: '192.0.2.1', port: 3080, user: name, password: 'secret' };
  await client.expect(201, 'POST', '/v2/computes', compute);
  t.equal(await server.stop(), 0, 'everything is written');
}

void t.test('the files of a server are its own', async (t) => {
  const data = join(scratchFolder(t), 'data');
  const parts = ['state', 'uploads', 'projects', 'images'];
  await fill(t, await startServer(t, { data }), 'lab');

  t.equal(modeOf(data), '700');
  for (const part of parts) t.equal(modeOf(data, part), '700', part);
  t.equal(modeOf(data, 'state', 'journal'), '600');

  await t.test('also when it was made by a server that let others in', async (t) => {
    for (const folder of [data, ...parts.map((part) => join(data, part))]) chmodSync(folder, 0o755);
    chmodSync(join(data, 'projects'), 0o2755);
    chmodSync(join(data, 'state', 'journal'), 0o644);
    t.same(readable(data, OTHERS), [join(data, 'state', 'journal')], 'the test sees what can be read');
    t.equal(await (await startServer(t, { data })).stop(), 0);
    t.same(readable(data, OTHERS | GROUP), []);
    t.equal(modeOf(data, 'projects'), '2700', 'who inherits the group is left as it was');
  });

  await t.test('but for images and projects, when a group is let in', async (t) => {
    chmodSync(data, 0o700);
    await fill(t, await startServer(t, { data, flags: ['--group-access'] }), 'shared');
    t.same(readable(data, OTHERS), []);
    const files = readable(data, GROUP).map((path) => path.slice(data.length + 1));
    for (const part of ['shared.gns3', 'secret.cfg'])
      t.ok(
        files.some((path) => path.endsWith(part)),
        part,
      );
    t.same(
      files.filter((path) => !/^(images|projects)\//.test(path)),
      [],
    );
  });
});

void t.test('folders that lie elsewhere are left as they are', async (t) => {
  const elsewhere = scratchFolder(t);
  const [projects, images] = [join(elsewhere, 'projects'), join(elsewhere, 'images')];
  for (const folder of [projects, images]) {
    mkdirSync(folder);
    chmodSync(folder, 0o755);
    writeFileSync(join(folder, 'readme'), '');
  }
  const server = await startServer(t, { flags: ['--projects', projects, '--images', images] });
  t.equal(await server.stop(), 0);
  for (const folder of [projects, images]) t.equal(modeOf(folder), '755');
});
