/** Files of a project as computes serve them. */
import { createHash, randomBytes } from 'node:crypto';
import { existsSync, mkdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import t from 'tap';
import { Client } from '../support/client.js';
import { ComputeLab } from '../support/compute-lab.js';
import { startServer } from '../support/server-process.js';

const server = await startServer(t);
const client = new Client(server.url);
const lab = await ComputeLab.open(client);
const files = `${lab.path}/files`;
const folder = join(server.data, 'projects', lab.id);
const md5 = (bytes: string | Buffer): string => createHash('md5').update(bytes).digest('hex');

interface Listed {
  readonly path: string;
  readonly md5sum: string;
}

async function listed(): Promise<Listed[]> {
  const { body } = await client.get(files);
  return (body as Listed[]).toSorted((a, b) => (a.path < b.path ? -1 : 1));
}

void t.test('a file is written with its folders, read back and listed with its digest', async (t) => {
  const large = randomBytes(5 * 1024 * 1024);
  t.strictSame(await listed(), []);
  t.equal((await client.post(`${files}/project-files/vpcs/1/startup.vpc`, 'ip dhcp')).status, 201);
  t.equal((await client.request('POST', `${files}/large.bin`, large)).status, 201);
  t.equal((await client.post(`${files}/.hidden`, '')).status, 201);
  t.equal((await client.post(`${files}/disk.ghost`, 'x')).status, 201);
  const read = await client.get(`${files}/project-files/vpcs/1/startup.vpc`);
  t.equal(read.text, 'ip dhcp');
  t.equal(read.headers.get('content-length'), '7');
  t.ok(read.headers.has('last-modified'));
  t.strictSame(await listed(), [
    { md5sum: md5(''), path: '.hidden' },
    { md5sum: md5(large), path: 'large.bin' },
    { md5sum: md5('ip dhcp'), path: 'project-files/vpcs/1/startup.vpc' },
  ]);
});

void t.test('links are not followed, and what cannot be read is not listed', async (t) => {
  mkdirSync(join(folder, 'links'));
  symlinkSync('/etc', join(folder, 'links', 'etc'));
  symlinkSync('/etc/passwd', join(folder, 'links', 'passwd'));
  symlinkSync('large.bin', join(folder, 'links', 'in'));
  t.notOk((await listed()).some(({ path }) => path.startsWith('links')));
});

void t.test('nothing outside of the folder is read or written', async (t) => {
  writeFileSync(join(server.data, 'secret'), 'secret');
  for (const path of [
    '..%2f..%2fsecret',
    `%2f${server.data.slice(1)}/secret`,
    'links/etc/passwd',
    'links/passwd',
    'a/..%2f..%2f..%2fsecret',
    'x%2f..',
  ]) {
    t.hasStrict(await client.get(`${files}/${path}`), { status: 403 }, `GET ${path}`);
    t.hasStrict(await client.post(`${files}/${path}`, 'x'), { status: 403 }, `POST ${path}`);
  }
  t.equal((await client.post(`${files}/tmp/a`, 'x')).status, 403);
  t.equal((await client.post(`${files}/links/etc/new/x`, 'x')).status, 403);
  t.equal(readFileSync(join(server.data, 'secret'), 'utf8'), 'secret');
  t.notOk(existsSync('/etc/new'));
  t.equal((await client.post(`${files}/%2f${folder.slice(1)}/absolute`, 'x')).status, 201);
  t.equal(readFileSync(join(folder, 'absolute'), 'utf8'), 'x', 'an absolute path inside is one');
});

void t.test('missing files, and names that are no files, are refused', async (t) => {
  t.hasStrict(await client.get(`${files}/none`), { status: 404, body: { message: '404: Not Found' } });
  t.equal((await client.get(`${files}/links`)).status, 409);
  t.equal((await client.post(`${files}/links`, 'x')).status, 409);
  t.equal((await client.post(`${files}/large.bin/below/x`, 'x')).status, 409);
});

void t.test('the topology file of a project of the controller is only for reading', async (t) => {
  const { project_id, path } = await client.expect(201, 'POST', '/v2/projects', {
    name: 'open',
    auto_close: false,
  });
  const its = await ComputeLab.open(client, String(project_id));
  for (const name of [
    'open.gns3',
    '.%2fopen.gns3',
    'a/..%2fopen.gns3',
    `%2f${String(path).slice(1)}/open.gns3`,
  ]) {
    t.equal((await client.post(`${its.path}/files/${name}`, '{}')).status, 403, name);
    t.equal((await client.post(`/v2/projects/${its.id}/files/${name}`, '{}')).status, 403, name);
  }
  const { body } = await client.get(`${its.path}/files`);
  const text = (await client.get(`${its.path}/files/open.gns3`)).text;
  t.strictSame(body, [{ md5sum: md5(text), path: 'open.gns3' }]);
  await its.close();
});
