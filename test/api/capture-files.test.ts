/** The capture files of a project, over HTTP. */
import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import {
  appendFileSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  symlinkSync,
  utimesSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import t from 'tap';
import { CAPTURES } from '../../src/lab/projects/folder-layout.js';
import { pcapFile } from '../support/capture-samples.js';
import { Client } from '../support/client.js';
import { eventually } from '../support/eventually.js';
import { descriptorsOf } from '../support/open-descriptors.js';
import { RandomBytes } from '../support/random.js';
import { headerOf, RawConnection, rawRequest } from '../support/raw-client.js';
import { scratchFolder } from '../support/scratch.js';
import { startServer } from '../support/server-process.js';

const server = await startServer(t, { environment: { WIREFARM_LOG_LEVEL: 'warn' } });
const client = new Client(server.url);
const MEGABYTE = 1024 * 1024;

const PACKETS = [
  { ms: 1_000_000, length: 60 },
  { ms: 2_000_000, length: 1500 },
];
const PCAP = pcapFile(PACKETS);

interface Project {
  readonly path: string;
  readonly folder: string;
  readonly write: (name: string, content: Uint8Array, ageSeconds?: number) => void;
}

async function makeProject(name: string): Promise<Project> {
  const project = await client.expect(201, 'POST', '/v2/projects', { name, auto_close: false });
  const folder = join(String(project['path']), CAPTURES);
  return {
    path: `/v2/projects/${String(project['project_id'])}`,
    folder,
    write(file, content, ageSeconds = 0) {
      mkdirSync(folder, { recursive: true });
      writeFileSync(join(folder, file), content);
      const time = Date.now() / 1000 - ageSeconds;
      utimesSync(join(folder, file), time, time);
    },
  };
}

const openDescriptors = (): number => descriptorsOf(server).length;

void t.test('a project without captures has none, and one that is unknown is not found', async (t) => {
  const { path, folder } = await makeProject('none');
  t.same((await client.get(`${path}/captures`)).body, []);
  mkdirSync(join(folder, '..', 'vpcs'), { recursive: true });
  t.same((await client.get(`${path}/captures`)).body, [], 'nor when its nodes have files');
  await client.expect(204, 'POST', `${path}/close`);
  await client.expect(201, 'POST', `${path}/open`);
  t.equal((await client.get(`${path}/captures/a.pcap`)).status, 404);
  t.equal((await client.delete(`${path}/captures/a.pcap`)).status, 404);
  t.same((await client.delete(`${path}/captures?keep_bytes=0`)).body, { deleted: [], freed_bytes: 0 });
  for (const what of ['captures', 'captures/a', 'captures.tar']) {
    t.equal((await client.get(`/v2/projects/unknown/${what}`)).status, 404, what);
  }
});

void t.test('captures are listed, open project or closed', async (t) => {
  const { path, write } = await makeProject('listed');
  write('b.pcap', PCAP);
  write('a.txt', Buffer.from('no capture'));
  for (const isOpen of [true, false]) {
    if (!isOpen) await client.expect(204, 'POST', `${path}/close`);
    t.match((await client.get(`${path}/captures`)).body, [
      { name: 'a.txt', format: 'unknown', link_type: null, packets: 0, first_packet_at: null },
      {
        name: 'b.pcap',
        format: 'pcap',
        link_type: 1,
        size: PCAP.length,
        packets: 2,
        first_packet_at: '1970-01-01T00:16:40.000Z',
        last_packet_at: '1970-01-01T00:33:20.000Z',
        modified_at: /^20..-..-..T..:..:..\....Z$/,
        state: 'finished',
        link_id: null,
      },
    ]);
    t.ok((await client.request('GET', `${path}/captures/b.pcap`)).headers.get('etag'));
  }
});

void t.test('a download, whole and by range', async (t) => {
  const { path, write, folder } = await makeProject('ranges');
  const content = new RandomBytes(5).next(3 * MEGABYTE);
  write('big.pcap', content);
  const file = `${path}/captures/big.pcap`;
  const get = (headers: Record<string, string>, method = 'GET'): ReturnType<typeof rawRequest> =>
    rawRequest(server.port, method, file, { headers });

  const whole = await get({});
  t.equal(whole.status, 200);
  t.ok(whole.body.equals(content));
  t.equal(headerOf(whole, 'Content-Type'), 'application/vnd.tcpdump.pcap');
  t.equal(headerOf(whole, 'Accept-Ranges'), 'bytes');
  const tag = headerOf(whole, 'ETag') ?? '';
  t.match(tag, /^"[0-9a-z-]+"$/);

  const { length } = content;
  for (const [range, start, end] of [
    ['bytes=0-0', 0, 1],
    ['bytes=1000-700000', 1000, 700_001],
    [`bytes=${length - 5}-`, length - 5, length],
    ['bytes=-300000', length - 300_000, length],
    ['bytes=5-999999999', 5, length],
  ] as const) {
    const part = await get({ Range: range });
    t.equal(part.status, 206, range);
    t.equal(headerOf(part, 'Content-Range'), `bytes ${start}-${end - 1}/${length}`);
    t.equal(headerOf(part, 'Content-Length'), String(end - start));
    t.ok(part.body.equals(content.subarray(start, end)), range);
  }
  const beyond = await get({ Range: `bytes=${length}-` });
  t.equal(beyond.status, 416);
  t.equal(headerOf(beyond, 'Content-Range'), `bytes */${length}`);
  t.match(JSON.parse(beyond.text), { status: 416, message: String });
  for (const range of ['bytes=0-1,5-6', 'lines=1-2', 'bytes=x'])
    t.equal((await get({ Range: range })).status, 200);

  t.equal((await get({ 'If-None-Match': tag })).status, 304);
  t.equal((await get({ 'If-None-Match': `"x", W/${tag}` })).status, 304);
  t.equal((await get({ 'If-None-Match': '"x"' })).status, 200);
  t.equal((await get({ Range: 'bytes=0-1', 'If-Range': tag })).status, 206);
  t.equal((await get({ Range: 'bytes=0-1', 'If-Range': '"x"' })).status, 200);
  const head = await get({ Range: 'bytes=0-1' }, 'HEAD');
  t.equal(head.status, 200, 'a range is for GET');
  t.equal(headerOf(head, 'Content-Length'), String(length));
  t.equal(headerOf(head, 'ETag'), tag);

  appendFileSync(join(folder, 'big.pcap'), 'x');
  const grown = await get({ Range: 'bytes=0-1', 'If-Range': tag });
  t.equal(grown.status, 200, 'another file is sent whole');
  t.equal(grown.body.length, length + 1);
});

void t.test('the files of a project have ranges, too, and an empty one has none', async (t) => {
  const { path } = await makeProject('project files');
  for (const base of [`${path}/files`, `${path.replace('/v2/', '/v2/compute/')}/files`]) {
    t.equal((await client.request('POST', `${path}/files/a.txt`, 'abcdef')).status, 201);
    const part = await client.request('GET', `${base}/a.txt`, undefined, { Range: 'bytes=1-2' });
    t.same([part.status, part.text], [206, 'bc']);
    const tag = part.headers.get('etag') ?? '';
    const same = await client.request('GET', `${base}/a.txt`, undefined, { 'If-None-Match': tag });
    t.same([same.status, same.text], [304, '']);
    await client.request('POST', `${path}/files/empty`);
    t.equal((await client.request('GET', `${base}/empty`, undefined, { Range: 'bytes=0-' })).status, 416);
    t.equal((await client.get(`${base}/empty`)).status, 200);
  }
});

const HAS_CURL = spawnSync('curl', ['--version']).status === 0;
void t.test(
  'curl resumes a download that broke off',
  { skip: HAS_CURL ? false : 'there is no curl: install the package curl' },
  async (t) => {
    const { path, write } = await makeProject('curl');
    const content = new RandomBytes(6).next(MEGABYTE);
    write('c.pcap', content);
    const target = join(scratchFolder(t), 'c.pcap');
    writeFileSync(target, content.subarray(0, 400_000));
    const curl = spawn('curl', ['-sf', '-C', '-', '-o', target, `${server.url}${path}/captures/c.pcap`]);
    t.same(await once(curl, 'exit'), [0, null]);
    t.ok(readFileSync(target).equals(content));
  },
);

void t.test('names lead nowhere else', async (t) => {
  const { path, write, folder } = await makeProject('names');
  write('a b#%.pcap', PCAP);
  writeFileSync(join(server.data, 'secret'), 'secret');
  symlinkSync(join(server.data, 'secret'), join(folder, 'planted'));
  t.equal((await client.get(`${path}/captures/${encodeURIComponent('a b#%.pcap')}`)).status, 200);
  for (const method of ['GET', 'DELETE']) {
    for (const name of ['..%2Fa', '..%2F..%2Fnames.gns3', '%2Fetc%2Fpasswd', 'a%2Fb', '%2e%2e', 'a%00b'])
      t.equal((await client.request(method, `${path}/captures/${name}`)).status, 404, `${method} ${name}`);
  }
  t.equal((await client.get(`${path}/captures/planted`)).status, 403);
  t.equal((await client.delete(`${path}/captures/planted`)).status, 404);
  t.same(readdirSync(folder).sort(), ['a b#%.pcap', 'planted']);
});

void t.test('captures are removed one by one, by age, and by size', async (t) => {
  const { path, write, folder } = await makeProject('removal');
  for (const [name, age] of [
    ['a', 10],
    ['b', 1000],
    ['c', 2000],
    ['d', 3000],
  ] as const)
    write(name, PCAP, age);
  await client.expect(204, 'DELETE', `${path}/captures/a`);
  t.equal((await client.delete(`${path}/captures/a`)).status, 404);
  for (const query of [
    '',
    '?older_than=',
    '?keep_bytes=-1',
    '?older_than=1.5',
    '?keep_bites=3',
    '?older_than=all',
  ])
    t.equal((await client.delete(`${path}/captures${query}`)).status, 400, query);
  t.equal(readdirSync(folder).length, 3, 'nothing of that removes anything');
  const { length } = PCAP;
  t.same((await client.delete(`${path}/captures?older_than=2500`)).body, {
    deleted: ['d'],
    freed_bytes: length,
  });
  t.same((await client.delete(`${path}/captures?keep_bytes=${length}`)).body, {
    deleted: ['c'],
    freed_bytes: length,
  });
  t.same(readdirSync(folder), ['b']);
});

const HAS_TAR = spawnSync('tar', ['--version']).status === 0;
const skip = HAS_TAR ? false : 'there is no tar: install the package tar';

void t.test('many captures are downloaded as one archive', { skip }, async (t) => {
  const { path, write } = await makeProject('archive');
  const random = new RandomBytes(7);
  const contents = new Map([
    ['a.pcap', random.next(2 * MEGABYTE)],
    ['b.pcap', PCAP],
    [`${'n'.repeat(150)}.pcap`, random.next(1000)],
  ]);
  for (const [name, content] of contents) write(name, content);
  const target = scratchFolder(t);
  const archive = join(target, 'all.tar');
  const fetchArchive = async (query: string): Promise<void> => {
    const response = await fetch(`${server.url}${path}/captures.tar${query}`);
    t.equal(response.status, 200);
    t.equal(response.headers.get('content-type'), 'application/x-tar');
    writeFileSync(archive, Buffer.from(await response.arrayBuffer()));
  };
  const tar = (...flags: string[]): string => {
    const { status, stdout, stderr } = spawnSync('tar', [...flags, '-f', archive, '-C', target]);
    t.same([status, stderr.toString()], [0, '']);
    return stdout.toString();
  };
  await fetchArchive('');
  t.equal(tar('-tv').trim().split('\n').length, contents.size);
  tar('-x');
  for (const [name, content] of contents) t.ok(readFileSync(join(target, 'captures', name)).equals(content));
  await fetchArchive('?names=b.pcap');
  t.equal(tar('-t'), 'captures/b.pcap\n');
  t.match((await client.get(`${path}/captures.tar?names=b.pcap,missing`)).body, {
    status: 404,
    message: /missing/,
  });
  t.equal((await client.request('HEAD', `${path}/captures.tar`)).status, 200);
});

void t.test('clients that vanish from an archive or a download leave nothing open', async (t) => {
  const { path, write } = await makeProject('vanishing');
  for (const name of ['a', 'b', 'c']) write(name, new RandomBytes(8).next(8 * MEGABYTE));
  await client.get(`${path}/captures`);
  const before = openDescriptors();
  for (let round = 0; round < 20; round++) {
    const connection = await RawConnection.open(server.port);
    connection.send('GET', round % 2 === 0 ? `${path}/captures.tar` : `${path}/captures/a`);
    if (round % 3 > 0) await connection.head();
    if (round % 4 === 0) connection.socket.pause();
    if (round % 5 === 0) await client.get('/v2/version');
    connection.vanish();
  }
  await eventually('every descriptor was given back', () => openDescriptors() <= before || undefined);
  t.equal(server.log(), '');
});
