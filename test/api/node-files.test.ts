/** The files of nodes, over HTTP: the contract's codes and bodies, its repairs, and what is added to it. */
import { execFileSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { once } from 'node:events';
import {
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  statSync,
  symlinkSync,
  utimesSync,
  writeFileSync,
} from 'node:fs';
import { request as httpRequest, type IncomingMessage } from 'node:http';
import { join } from 'node:path';
import t from 'tap';
import { Client, type Reply } from '../support/client.js';
import { eventually } from '../support/eventually.js';
import { gns3Node, placeGns3Project } from '../support/gns3-project.js';
import { Random, RandomBytes } from '../support/random.js';
import { headerOf, rawRequest } from '../support/raw-client.js';
import { scratchFolder } from '../support/scratch.js';
import { startServer } from '../support/server-process.js';

const MEGABYTE = 1024 * 1024;
const UNKNOWN = '00000000-0000-4000-8000-000000000000';
const TYPES = [
  'atm_switch',
  'cloud',
  'docker',
  'dynamips',
  'ethernet_hub',
  'ethernet_switch',
  'frame_relay_switch',
  'iou',
  'nat',
  'qemu',
  'vpcs',
] as const;
const nodes = new Map(TYPES.map((type) => [type, gns3Node(type).node_id]));

const data = scratchFolder(t);
mkdirSync(join(data, 'projects'));
const all = TYPES.map((type) => gns3Node(type, { node_id: nodes.get(type) }));
const project = placeGns3Project(join(data, 'projects'), 'lab', { nodes: all, head: { auto_close: false } });
const closed = placeGns3Project(join(data, 'projects'), 'closed', { nodes: all });
const server = await startServer(t, { data, environment: { WIREFARM_LOG_LEVEL: 'warn' } });
const client = new Client(server.url);
await client.expect(201, 'POST', `/v2/projects/${project.id}/open`);

type Type = (typeof TYPES)[number];
const nodeId = (type: Type): string => nodes.get(type) ?? '';
const filesOf = (type: Type): string => `/v2/projects/${project.id}/nodes/${nodeId(type)}/files`;
const folderOf = (type: Type): string => join(project.folder, 'project-files', type, nodeId(type));
const coded = (path: string): string => path.split('/').map(encodeURIComponent).join('/');
const refusal = (status: number, message: string): { status: number; body: object } => ({
  status,
  body: { status, message },
});
const FORBIDDEN = refusal(403, '403: Forbidden');
const missing = (
  method: string,
  type: Type,
  path: string,
  folder: string = type,
): ReturnType<typeof refusal> =>
  refusal(
    404,
    `${method} /projects/${project.id}/files/project-files/${folder}/${nodeId(type)}/${path} not found`,
  );
const write = (type: Type, path: string, content: string | Uint8Array): Promise<Reply> =>
  client.request('POST', `${filesOf(type)}/${coded(path)}`, content);
const unfinished = (): string[] => {
  const temporary = join(project.folder, 'tmp');
  return existsSync(temporary) ? readdirSync(temporary).filter((name) => name !== 'incoming') : [];
};

void t.test('a file of a node of every kind is written and read', async (t) => {
  for (const type of TYPES) {
    const folder = type === 'cloud' || type === 'nat' ? 'builtin' : type;
    t.hasStrict(
      await client.get(`${filesOf(type)}/configs/startup.cfg`),
      missing('GET', type, 'configs/startup.cfg', folder),
      type,
    );
    const written = await write(type, 'configs/startup.cfg', `hostname ${type}`);
    t.same([written.status, written.text], [201, ''], type);
    t.equal(written.headers.get('content-length'), '0');
    t.equal(written.headers.get('content-type'), null);
    const read = await client.get(`${filesOf(type)}/configs/startup.cfg`);
    t.same([read.status, read.text], [200, `hostname ${type}`], type);
    t.equal(read.headers.get('content-type'), 'application/octet-stream');
    const path = join(project.folder, 'project-files', folder, nodeId(type), 'configs', 'startup.cfg');
    t.equal(readFileSync(path, 'utf8'), `hostname ${type}`, type);
    t.equal(statSync(path).mode & 0o777, 0o644);
  }
});

void t.test('an empty file is one, and any name says nothing of what is in it', async (t) => {
  t.equal((await client.request('POST', `${filesOf('vpcs')}/startup.html`)).status, 201);
  const read = await client.get(`${filesOf('vpcs')}/startup.html`);
  t.same([read.status, read.text, read.headers.get('content-length')], [200, '', '0']);
  t.equal(read.headers.get('content-type'), 'application/octet-stream');
});

void t.test('unknown files are not found, and a closed project keeps its files', async (t) => {
  const noProject = refusal(404, `Project ID ${UNKNOWN} doesn't exist`);
  const noNode = refusal(404, `Node ID ${UNKNOWN} doesn't exist`);
  const notOpen = refusal(403, 'The project is not opened');
  for (const [expected, path] of [
    [noProject, `${UNKNOWN}/nodes/${nodeId('qemu')}`],
    [noNode, `${project.id}/nodes/${UNKNOWN}`],
    [notOpen, `${closed.id}/nodes/${nodeId('qemu')}`],
  ] as const) {
    const base = `/v2/projects/${path}/files`;
    for (const method of ['GET', 'POST', 'DELETE'])
      t.hasStrict(await client.request(method, `${base}/a`), expected, `${method} ${path}`);
    t.hasStrict(await client.get(base), expected);
    t.hasStrict(await client.get(`${base}.tar`), expected);
    t.hasStrict(await client.request('POST', `${base}.tar`, Buffer.alloc(1024)), expected);
  }
});

void t.test('paths are read as the contract says', async (t) => {
  for (const [path, real] of [
    ['plain', 'plain'],
    ['a%5Cb', 'a/b'],
    ['a//c', 'a/c'],
    ['a/x/..%2Fd', 'a/d'],
    ['.%2Fa/e', 'a/e'],
    ['a%2F.hidden', 'a/.hidden'],
    ['%2Fa/f', 'a/f'],
    ['...', undefined],
    ['.hidden', undefined],
    ['.hidden/a', undefined],
    ['..%2Fa', undefined],
    ['a/..%2F..%2Fb', undefined],
    ['%5C..%5Ca', undefined],
    ['a/..', undefined],
    ['%2E', undefined],
    ['%2F', undefined],
    ['%2F.hidden', undefined],
    ['%2F..%2F..%2F..%2Flab.gns3', undefined],
    ['..%5C..%5C..%5Clab.gns3', undefined],
    ['a%00b', undefined],
  ] as const) {
    const url = `${filesOf('iou')}/${path}`;
    for (const method of ['GET', 'DELETE'] as const) {
      const reply = await rawRequest(server.port, method, url);
      t.equal(reply.status, real === undefined ? 403 : 404, `${method} ${path}`);
    }
    const written = await rawRequest(server.port, 'POST', url, { body: path });
    t.equal(written.status, real === undefined ? 403 : 201, path);
    if (real === undefined) t.match(JSON.parse(written.text), { message: '403: Forbidden' });
    else t.equal(readFileSync(join(folderOf('iou'), real), 'utf8'), path);
    const read = await rawRequest(server.port, 'GET', url);
    t.equal(read.status, real === undefined ? 403 : 200, path);
  }
  t.same(
    readdirSync(folderOf('iou')).sort(),
    ['a', 'configs', 'plain'].filter((name) => existsSync(join(folderOf('iou'), name))),
  );
});

void t.test('names are whole, whatever is in them', async (t) => {
  const odd = [
    'a?b',
    'a#b',
    'ein Name',
    '100%',
    '%41',
    'größe 大',
    'a&b=c',
    'it\'s "quoted"',
    'a+b',
    'line\nbreak',
    'ü'.repeat(127),
  ];
  for (const name of odd) {
    t.equal((await write('dynamips', `odd/${name}`, name)).status, 201, name);
    t.equal((await client.get(`${filesOf('dynamips')}/odd/${encodeURIComponent(name)}`)).text, name);
    t.equal(readFileSync(join(folderOf('dynamips'), 'odd', name), 'utf8'), name);
  }
  t.same(readdirSync(join(folderOf('dynamips'), 'odd')).sort(), [...odd].sort());
  const tooLong = await write('dynamips', 'x'.repeat(256), 'x');
  t.hasStrict(tooLong, { status: 400, body: { message: 'The file name is too long' } });
});

void t.test('a folder is listed, one level of it or all', async (t) => {
  const files = filesOf('qemu');
  for (const path of ['b', 'a', 'sub/one', 'sub/deep/two', '-']) await write('qemu', path, path.repeat(3));
  mkdirSync(join(folderOf('qemu'), 'void'));
  writeFileSync(join(folderOf('qemu'), '.shown'), '');
  symlinkSync('a', join(folderOf('qemu'), 'link'));
  symlinkSync('sub', join(folderOf('qemu'), 'linked'));
  execFileSync('mkfifo', [join(folderOf('qemu'), 'pipe')]);
  utimesSync(join(folderOf('qemu'), 'a'), 1_700_000_000, 1_700_000_000.5);
  const top = await client.get(files);
  t.equal(top.status, 200);
  const listed = top.body as { path: string; type: string; size: number; modified: string }[];
  t.same(
    listed.filter(({ path }) => path !== 'configs').map(({ path, type, size }) => [path, type, size]),
    [
      ['-', 'file', 3],
      ['.shown', 'file', 0],
      ['a', 'file', 3],
      ['b', 'file', 3],
      ['link', 'other', 0],
      ['linked', 'other', 0],
      ['pipe', 'other', 0],
      ['sub', 'folder', 0],
      ['void', 'folder', 0],
    ],
  );
  t.equal(listed.find(({ path }) => path === 'a')?.modified, '2023-11-14T22:13:20.500Z');
  const paths = async (query: string): Promise<string[]> =>
    ((await client.get(`${files}?${query}`)).body as { path: string }[]).map(({ path }) => path);
  t.same(await paths('folder=sub'), ['sub/deep', 'sub/one']);
  t.same(await paths('folder=sub%2F'), ['sub/deep', 'sub/one']);
  t.same(await paths('folder=sub&recursive=true'), ['sub/deep', 'sub/deep/two', 'sub/one']);
  t.ok((await paths('recursive=true')).includes('sub/deep/two'));
  t.notOk((await paths('recursive=true')).some((path) => path.startsWith('linked/')));
  t.same(await paths('folder=void'), []);
  t.hasStrict(await client.get(`${files}?folder=missing`), missing('GET', 'qemu', 'missing'));
  t.equal((await client.get(`${files}?folder=a`)).status, 409, 'no folder');
  t.hasStrict(await client.get(`${files}?folder=linked`), FORBIDDEN);
  t.hasStrict(await client.get(`${files}?folder=..`), FORBIDDEN);
  t.equal((await client.get(`${files}?recursive=maybe`)).status, 400);
  t.equal((await client.get(`${files}?other=1`)).status, 400);
});

void t.test('a node without a folder has no files', async (t) => {
  const made = await client.expect(201, 'POST', `/v2/projects/${project.id}/nodes`, {
    name: 'fresh',
    node_type: 'atm_switch',
    compute_id: 'local',
  });
  const files = `/v2/projects/${project.id}/nodes/${String(made['node_id'])}/files`;
  t.hasStrict(await client.get(files), { status: 200, body: [] });
  t.equal((await client.get(`${files}?folder=a`)).status, 404);
  t.equal((await client.delete(`${files}/a`)).status, 404);
});

void t.test('a folder with very many files is not listed', async (t) => {
  const folder = join(folderOf('nat').replace('nat', 'builtin'), 'many');
  mkdirSync(folder, { recursive: true });
  for (let count = 0; count < 10_000; count++) writeFileSync(join(folder, String(count)), '');
  t.equal(((await client.get(`${filesOf('nat')}?folder=many`)).body as unknown[]).length, 10_000);
  writeFileSync(join(folder, 'last'), '');
  t.hasStrict(
    await client.get(`${filesOf('nat')}?folder=many`),
    refusal(409, 'There are too many files in this folder: at most 10000'),
  );
});

void t.test('a folder is no file', async (t) => {
  await write('docker', 'etc/network & more/interfaces', 'auto eth0');
  const expected = {
    status: 409,
    body: {
      status: 409,
      message:
        `Is a directory: 'etc/network & more': what is in it is listed at ` +
        `${filesOf('docker')}?folder=etc%2Fnetwork%20%26%20more`,
    },
  };
  t.hasStrict(await client.get(`${filesOf('docker')}/${coded('etc/network & more')}`), expected);
  t.equal((await client.get(`${filesOf('docker')}?folder=etc%2Fnetwork%20%26%20more`)).status, 200);
  t.equal((await write('docker', 'etc', 'x')).status, 409);
  const below = await client.get(`${filesOf('docker')}/${coded('etc/network & more/interfaces/deeper')}`);
  t.hasStrict(below, missing('GET', 'docker', 'etc/network & more/interfaces/deeper'));
  t.equal((await write('docker', 'etc/network & more/interfaces/deeper', 'x')).status, 409);
});

void t.test('files and folders are deleted', async (t) => {
  const files = filesOf('cloud');
  const folder = folderOf('cloud').replace('cloud', 'builtin');
  for (const path of ['file', 'full/a', 'full/b/c', 'stays']) await write('cloud', path, path);
  mkdirSync(join(folder, 'void'));
  symlinkSync(server.data, join(folder, 'planted'));
  t.same([(await client.delete(`${files}/file`)).status, existsSync(join(folder, 'file'))], [204, false]);
  t.hasStrict(await client.delete(`${files}/file`), missing('DELETE', 'cloud', 'file', 'builtin'));
  t.equal((await client.delete(`${files}/no/such`)).status, 404);
  t.equal((await client.delete(`${files}/void`)).status, 204);
  t.hasStrict(
    await client.delete(`${files}/full`),
    refusal(409, 'The folder full is not empty: recursive=true deletes it with all that is in it'),
  );
  t.equal((await client.delete(`${files}/full?recursive=false`)).status, 409);
  t.equal(readFileSync(join(folder, 'full', 'b', 'c'), 'utf8'), 'full/b/c');
  t.equal((await client.delete(`${files}/full?recursive=true`)).status, 204);
  t.equal((await client.delete(`${files}/planted/projects?recursive=true`)).status, 403);
  t.equal((await client.delete(`${files}/planted?recursive=true`)).status, 204, 'the link itself');
  t.ok(existsSync(join(server.data, 'projects')));
  t.notOk(readdirSync(folder).some((name) => ['full', 'void', 'planted', 'file'].includes(name)));
  t.ok(readdirSync(folder).includes('stays'));
  t.same(unfinished(), []);
});

void t.test('planted links lead nowhere', async (t) => {
  const planted = async (link: string, target: string, path: string): Promise<void> => {
    const made = await client.expect(201, 'POST', `/v2/projects/${project.id}/nodes`, {
      name: 'planted',
      node_type: 'frame_relay_switch',
      compute_id: 'local',
    });
    const id = String(made['node_id']);
    const files = `/v2/projects/${project.id}/nodes/${id}/files`;
    const folder = join(project.folder, 'project-files', 'frame_relay_switch', id);
    if (link === '') {
      symlinkSync(target, folder);
    } else {
      mkdirSync(folder, { recursive: true });
      symlinkSync(target, join(folder, link));
    }
    // Where nothing is at its end, there is nothing to forbid.
    const expected = link === 'dangling' ? { status: 404 } : FORBIDDEN;
    for (const method of ['GET', 'POST'])
      t.hasStrict(
        await client.request(method, `${files}/${path}`, method === 'GET' ? undefined : 'x'),
        expected,
        `${method} ${link} ${target}`,
      );
    if (link !== '') return;
    for (const wanted of ['', '.tar']) t.hasStrict(await client.get(`${files}${wanted}`), FORBIDDEN);
    t.hasStrict(await client.delete(`${files}/${path}`), FORBIDDEN);
    t.hasStrict(await client.request('POST', `${files}.tar`, Buffer.alloc(1024)), FORBIDDEN);
  };
  const outside = scratchFolder(t);
  writeFileSync(join(outside, 'secret'), 'secret');
  mkdirSync(join(project.folder, 'snapshots'), { recursive: true });
  writeFileSync(join(project.folder, 'snapshots', 'secret'), 'secret');
  await planted('', outside, 'secret');
  await planted('', '../../snapshots', 'secret');
  await planted('', '../..', 'lab.gns3');
  await planted('folder', outside, 'folder/secret');
  await planted('file', join(outside, 'secret'), 'file');
  await planted('up', '../../../lab.gns3', 'up');
  await planted('up', '../../../snapshots', 'up/secret');
  await planted('dangling', join(outside, 'new'), 'dangling');
  t.same(readdirSync(outside), ['secret']);
  t.equal(readFileSync(join(outside, 'secret'), 'utf8'), 'secret');
  t.equal(readFileSync(join(project.folder, 'snapshots', 'secret'), 'utf8'), 'secret');
});

void t.test('a pipe blocks nobody', async (t) => {
  await write('ethernet_hub', 'a', 'a');
  execFileSync('mkfifo', [join(folderOf('ethernet_hub'), 'pipe')]);
  for (let round = 0; round < 5; round++) {
    t.equal((await client.get(`${filesOf('ethernet_hub')}/pipe`)).status, 403);
    t.equal((await write('ethernet_hub', 'pipe', 'x')).status, 403);
  }
  t.equal((await client.get(`${filesOf('ethernet_hub')}/a`)).text, 'a');
});

void t.test('parts and states of a file', async (t) => {
  await write('vpcs', 'startup.vpc', 'set pcname A\n');
  const url = `${filesOf('vpcs')}/startup.vpc`;
  const get = (headers: Record<string, string>, method = 'GET'): ReturnType<typeof rawRequest> =>
    rawRequest(server.port, method, url, { headers });
  const head = await get({}, 'HEAD');
  t.same([head.status, headerOf(head, 'Content-Length'), head.text], [200, '13', '']);
  const tag = headerOf(head, 'ETag') ?? '';
  const part = await get({ Range: 'bytes=4-9', 'If-Range': tag });
  t.same([part.status, part.text, headerOf(part, 'Content-Range')], [206, 'pcname', 'bytes 4-9/13']);
  t.equal((await get({ 'If-None-Match': tag })).status, 304);
  await write('vpcs', 'startup.vpc', 'set pcname B\n');
  t.equal((await get({ 'If-None-Match': tag })).text, 'set pcname B\n');
  t.equal((await get({ Range: 'bytes=4-9', 'If-Range': tag })).status, 200);
});

/** Uploads so many random megabytes in pieces; resolves with the status. */
async function upload(path: string, seed: number, megabytes: number): Promise<number> {
  const random = new RandomBytes(seed);
  const outgoing = httpRequest(server.url + path, { method: 'POST' });
  const answered = once(outgoing, 'response') as Promise<[IncomingMessage]>;
  for (let sent = 0; sent < megabytes; sent++)
    if (!outgoing.write(random.next(MEGABYTE))) await once(outgoing, 'drain');
  outgoing.end();
  const [response] = await answered;
  response.resume();
  return response.statusCode ?? 0;
}

void t.test('a large file goes in and out intact', async (t) => {
  const path = `${filesOf('qemu')}/hda_disk.qcow2`;
  t.equal(await upload(path, 9, 100), 201);
  const expected = createHash('sha256');
  const random = new RandomBytes(9);
  for (let count = 0; count < 100; count++) expected.update(random.next(MEGABYTE));
  const found = createHash('sha256');
  const response = await fetch(server.url + path);
  t.equal(response.headers.get('content-length'), String(100 * MEGABYTE));
  for await (const piece of response.body ?? []) found.update(piece as Uint8Array);
  t.equal(found.digest('hex'), expected.digest('hex'));
  t.equal((await client.delete(path)).status, 204);
});

void t.test('an upload that breaks off leaves the file as it was', async (t) => {
  await write('qemu', 'kept', 'whole');
  for (let round = 0; round < 5; round++) {
    const outgoing = httpRequest(`${server.url}${filesOf('qemu')}/kept`, {
      method: 'POST',
      headers: { 'Content-Length': 10 * MEGABYTE },
    });
    outgoing.on('error', () => undefined);
    outgoing.write(new RandomBytes(round).next(MEGABYTE));
    await eventually('the upload has begun', () => unfinished().length > 0 || undefined);
    t.equal((await client.get(`${filesOf('qemu')}/kept`)).text, 'whole');
    outgoing.destroy();
    await eventually('nothing is left of it', () => unfinished().length === 0 || undefined);
  }
  t.equal((await client.get(`${filesOf('qemu')}/kept`)).text, 'whole');
});

void t.test('writers and readers of one file at once see whole files', async (t) => {
  const random = new Random(77);
  const contents = Array.from({ length: 8 }, (_, index) => String(index).repeat(1 + random.below(100_000)));
  const wholes = new Set(contents);
  await write('qemu', 'contended', contents[0] ?? '');
  await Promise.all(
    contents.flatMap((content) => [
      write('qemu', 'contended', content).then(({ status }) => t.equal(status, 201)),
      client.get(`${filesOf('qemu')}/contended`).then(({ text }) => t.ok(wholes.has(text))),
    ]),
  );
  t.ok(wholes.has((await client.get(`${filesOf('qemu')}/contended`)).text));
});

void t.test('nothing of this went wrong', (t) => {
  t.equal(server.log(), '');
  t.end();
});
