/** The folders of nodes as tar archives, over HTTP, next to what the system's tar makes and reads. */
import { spawnSync } from 'node:child_process';
import {
  chmodSync,
  existsSync,
  lstatSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  statSync,
  symlinkSync,
  utimesSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { gzipSync } from 'node:zlib';
import t from 'tap';
import { Client, type Reply } from '../support/client.js';
import { eventually } from '../support/eventually.js';
import { gns3Node, placeGns3Project } from '../support/gns3-project.js';
import { patience } from '../support/patience.js';
import { RandomBytes } from '../support/random.js';
import { RawConnection } from '../support/raw-client.js';
import { scratchFolder } from '../support/scratch.js';
import { startServer } from '../support/server-process.js';
import { tarArchive, tarMember, TAR_ZEROS } from '../support/tar-archive.js';

const MEGABYTE = 1024 * 1024;
const NODE = gns3Node('docker');
const data = scratchFolder(t);
mkdirSync(join(data, 'projects'));
const project = placeGns3Project(join(data, 'projects'), 'lab', {
  nodes: [NODE],
  head: { auto_close: false },
});
const server = await startServer(t, { data, environment: { WIREFARM_LOG_LEVEL: 'warn' } });
const client = new Client(server.url);
await client.expect(201, 'POST', `/v2/projects/${project.id}/open`);

const ARCHIVE = `/v2/projects/${project.id}/nodes/${NODE.node_id}/files.tar`;
const FOLDER = join(project.folder, 'project-files', 'docker', NODE.node_id);
const outside = scratchFolder(t);
const HAS_TAR = spawnSync('tar', ['--version']).stdout.toString().includes('GNU tar');
const skip = HAS_TAR ? false : 'there is no GNU tar: install the package tar';

type Tree = Record<string, string>;

/** Every path with what is there. */
function treeOf(folder: string): Tree {
  if (!existsSync(folder)) return {};
  const entries = readdirSync(folder, { recursive: true, encoding: 'utf8' }).sort();
  return Object.fromEntries(
    entries.map((path) => {
      const full = join(folder, path);
      const found = lstatSync(full);
      if (found.isSymbolicLink()) return [path, `-> ${readlinkSync(full)}`];
      return [path, found.isDirectory() ? '/' : readFileSync(full).toString('base64')];
    }),
  );
}

const temporary = (): string[] => {
  const folder = join(project.folder, 'tmp');
  return existsSync(folder)
    ? readdirSync(folder, { recursive: true, encoding: 'utf8' }).filter((name) => name !== 'incoming')
    : [];
};
const unpack = (archive: Uint8Array, query = ''): Promise<Reply> =>
  client.request('POST', ARCHIVE + query, archive);
const deleteAll = async (): Promise<void> => {
  const files = ARCHIVE.replace('.tar', '');
  for (const { path } of (await client.get(files)).body as { path: string }[])
    await client.request('DELETE', `${files}/${encodeURIComponent(path)}?recursive=true`);
};

async function download(query = ''): Promise<Buffer> {
  const response = await fetch(server.url + ARCHIVE + query);
  if (response.status !== 200) throw new Error(`${response.status}: ${await response.text()}`);
  return Buffer.from(await response.arrayBuffer());
}

function tar(flags: readonly string[], input?: Uint8Array): Buffer {
  const { status, stdout, stderr } = spawnSync('tar', flags, { input, maxBuffer: 100 * MEGABYTE });
  if (status !== 0 || stderr.length > 0) throw new Error(`tar: ${stderr.toString()}`);
  return stdout;
}

/** A folder with names and contents that are hard for an archive. */
function fillFolder(folder: string, seed: number): void {
  const random = new RandomBytes(seed);
  const write = (path: string, content: Uint8Array | string): void => {
    mkdirSync(join(folder, path, '..'), { recursive: true });
    writeFileSync(join(folder, path), content);
  };
  write('startup.cfg', 'hostname A\n');
  write('empty', '');
  write('etc/network/interfaces', 'auto eth0\n');
  write('größe 大/ein Name?#%', 'odd');
  write('n'.repeat(99), 'just fits');
  write('n'.repeat(101), 'does not fit');
  write(`${'d'.repeat(200)}/${'e'.repeat(200)}/${'f'.repeat(200)}`, 'long');
  write('large', random.next(3 * MEGABYTE + 17));
  for (const size of [511, 512, 513, 10_240]) write(`sizes/${size}`, random.next(size));
  write('run.sh', '#!/bin/sh\n');
  chmodSync(join(folder, 'run.sh'), 0o755);
  mkdirSync(join(folder, 'void', 'deeper'), { recursive: true });
}

void t.test('a folder leaves as the archive of what is in it', { skip }, async (t) => {
  t.ok((await download()).equals(Buffer.alloc(1024)), 'no folder yet');
  mkdirSync(FOLDER, { recursive: true });
  fillFolder(FOLDER, 1);
  utimesSync(join(FOLDER, 'startup.cfg'), 1_700_000_000, 1_700_000_000);
  const expected = treeOf(FOLDER);
  symlinkSync('/etc/passwd', join(FOLDER, 'planted'));
  symlinkSync('etc', join(FOLDER, 'linked'));
  spawnSync('mkfifo', [join(FOLDER, 'pipe')]);
  const target = scratchFolder(t);
  const archive = await download();
  tar(['-x', '-C', target], archive);
  t.same(treeOf(target), expected);
  t.equal(statSync(join(target, 'startup.cfg')).mtimeMs, 1_700_000_000_000);
  t.equal(statSync(join(target, 'startup.cfg')).mode & 0o777, 0o644);
  t.equal(statSync(join(target, 'run.sh')).mode & 0o777, 0o755);
  t.equal(statSync(join(target, 'void', 'deeper')).mode & 0o777, 0o755);
  t.same(tar(['-t'], await download('?folder=etc')).toString(), 'network/interfaces\n');
  t.same(tar(['-t'], await download('?folder=void')).toString(), 'deeper/\n');
  const response = await fetch(server.url + ARCHIVE);
  t.equal(response.headers.get('content-type'), 'application/x-tar');
  await response.body?.cancel();
  t.equal((await client.request('HEAD', ARCHIVE)).status, 200);
  t.equal((await client.get(`${ARCHIVE}?folder=missing`)).status, 404);
  t.equal((await client.get(`${ARCHIVE}?folder=startup.cfg`)).status, 409);
  t.equal((await client.get(`${ARCHIVE}?folder=..`)).status, 403);
  t.equal((await client.get(`${ARCHIVE}?folder=linked`)).status, 403);
});

void t.test('a folder that was taken out comes back as it was', { skip }, async (t) => {
  const archive = await download();
  await deleteAll();
  t.same(treeOf(FOLDER), {});
  const reply = await unpack(archive);
  t.same([reply.status, reply.text, reply.headers.get('content-length')], [201, '', '0']);
  t.ok((await download()).length === archive.length);
  const target = scratchFolder(t);
  tar(['-x', '-C', target], archive);
  t.same(treeOf(FOLDER), treeOf(target));
  t.equal(statSync(join(FOLDER, 'run.sh')).mode & 0o777, 0o755);
  t.equal(statSync(join(FOLDER, 'startup.cfg')).mode & 0o777, 0o644);
  t.same(temporary(), []);
});

for (const format of ['gnu', 'oldgnu', 'pax', 'posix', 'ustar', 'v7']) {
  void t.test(`an archive of the format ${format} is unpacked`, { skip }, async (t) => {
    const source = scratchFolder(t);
    if (format === 'v7' || format === 'ustar') {
      mkdirSync(join(source, 'etc', 'network'), { recursive: true });
      writeFileSync(join(source, 'etc', 'network', 'interfaces'), 'auto eth1\n');
      writeFileSync(join(source, 'startup.cfg'), 'hostname B\n');
      if (format === 'ustar') {
        mkdirSync(join(source, 'd'.repeat(90)));
        writeFileSync(join(source, 'd'.repeat(90), 'f'.repeat(90)), 'with a prefix');
      }
    } else {
      fillFolder(source, 2);
    }
    await deleteAll();
    const archive = tar([`--format=${format}`, '-c', '-C', source, '.']);
    t.equal((await unpack(archive)).status, 201);
    t.same(treeOf(FOLDER), treeOf(source));
    t.same(temporary(), []);
  });
}

void t.test('files that are there are replaced or joined, and nothing is deleted', async (t) => {
  await deleteAll();
  t.equal(
    (
      await unpack(
        tarArchive([
          ['a', 'old'],
          ['sub/kept', 'kept'],
          ['sub/b', 'old'],
        ]),
      )
    ).status,
    201,
  );
  t.equal(
    (
      await unpack(
        tarArchive([
          ['a', 'new'],
          ['sub/', ''],
          ['sub/b', 'new'],
          ['more/c', 'new'],
        ]),
      )
    ).status,
    201,
  );
  const content = (text: string): string => Buffer.from(text).toString('base64');
  t.same(treeOf(FOLDER), {
    a: content('new'),
    more: '/',
    'more/c': content('new'),
    sub: '/',
    'sub/b': content('new'),
    'sub/kept': content('kept'),
  });
  t.equal((await unpack(tarArchive([['./d', 'deep']]), '?folder=made/for%20it')).status, 201);
  t.equal(readFileSync(join(FOLDER, 'made/for it/d'), 'utf8'), 'deep');
  t.equal(
    (
      await unpack(
        tarArchive([
          ['a', 'first'],
          ['a', 'second'],
        ]),
      )
    ).status,
    201,
  );
  t.equal(readFileSync(join(FOLDER, 'a'), 'utf8'), 'second', 'of members of one name, the last is meant');
  t.equal((await unpack(Buffer.alloc(1024))).status, 201, 'an archive of nothing');
});

void t.test('nothing of an archive is unpacked that must not be', async (t) => {
  symlinkSync(outside, join(FOLDER, 'planted'));
  mkdirSync(join(FOLDER, 'folder'), { recursive: true });
  const before = treeOf(FOLDER);
  const good = tarMember({ path: 'good', content: 'good' });
  const refused = [
    ['up', tarMember({ path: '../up', content: 'content' })],
    ['far up', tarMember({ path: 'a/../../up' })],
    ['in and out', tarMember({ path: 'a/../b' })],
    ['absolute', tarMember({ path: '/etc/cron.d/x' })],
    ['two slashes', tarMember({ path: '//x' })],
    ['dots', tarMember({ path: '..' })],
    ['a nameless file', tarMember({ path: '.' })],
    ['a symbolic link', tarMember({ path: 'link', type: '2', target: '/etc' })],
    [
      'a link and what is behind it',
      Buffer.concat([tarMember({ path: 'link', type: '2', target: '/etc' }), tarMember({ path: 'link/x' })]),
    ],
    ['a hard link', tarMember({ path: 'hard', type: '1', target: 'good' })],
    ['a character device', tarMember({ path: 'null', type: '3' })],
    ['a block device', tarMember({ path: 'sda', type: '4' })],
    ['a FIFO', tarMember({ path: 'pipe', type: '6' })],
    ['an unknown type', tarMember({ path: 'odd', type: 'Z' })],
    ['a sparse file of GNU tar', tarMember({ path: 'sparse', type: 'S' })],
    ['a file below a file', Buffer.concat([tarMember({ path: 'a' }), tarMember({ path: 'a/b' })])],
    ['a file that is a folder', Buffer.concat([tarMember({ path: 'x/b' }), tarMember({ path: 'x' })])],
    ['a name of pax that leads out', tarMember({ path: 'plain', pax: { path: '../../out' } })],
    ['a zero in a name of pax', tarMember({ path: 'plain', pax: { path: 'a\0b' } })],
    ['a sparse file of pax', tarMember({ path: 'plain', pax: { 'GNU.sparse.major': '1' } })],
    [
      'a long name of GNU tar that leads out',
      tarMember({ path: 'plain', longName: `${'a/'.repeat(100)}../x` }),
    ],
    ['a part that is too long', tarMember({ path: 'plain', pax: { path: 'x'.repeat(256) } })],
    ['a name that is too long', tarMember({ path: 'plain', pax: { path: 'x/'.repeat(2049) } })],
    ['a name that is no text', tarMember({ path: Buffer.from([0x61, 0xff]) })],
    ['through a link that is there', tarMember({ path: 'planted/x' })],
    ['in the place of a link', tarMember({ path: 'planted' })],
    ['a folder in the place of a link', tarMember({ path: 'planted', type: '5' })],
    ['in the place of a folder', tarMember({ path: 'folder' })],
    ['below a file that is there', tarMember({ path: 'a/b' })],
  ] as const;
  for (const [what, member] of refused) {
    for (const parts of [
      [good, member],
      [member, good],
    ]) {
      const reply = await unpack(Buffer.concat([...parts, TAR_ZEROS]));
      t.match(reply, { status: 409, body: { status: 409, message: /member/ } }, what);
    }
    t.same(treeOf(FOLDER), before, what);
    t.same(temporary(), [], what);
  }
  t.same(readdirSync(outside), []);
  t.match((await unpack(Buffer.concat([tarMember({ path: '../up' }), TAR_ZEROS]))).body, {
    message: "The archive was not unpacked, because of its member '../up': its name leads out of its folder",
  });
});

void t.test('an archive that is not whole changes nothing', async (t) => {
  const before = treeOf(FOLDER);
  const whole = Buffer.concat([
    tarMember({ path: 'first', content: new RandomBytes(3).next(3000) }),
    tarMember({ path: 'zeros', content: Buffer.alloc(5000) }),
    tarMember({ path: 'x', longName: 'l'.repeat(200), content: 'long' }),
    tarMember({ path: 'x', pax: { path: 'p'.repeat(200) }, content: 'pax' }),
    TAR_ZEROS,
  ]);
  for (let length = 0; length < whole.length; length += 512) {
    const reply = await unpack(whole.subarray(0, length));
    t.match(reply, { status: 400, body: { message: /^The tar archive is damaged: / } }, `${length} bytes`);
  }
  t.equal((await unpack(whole.subarray(0, 1700))).status, 400, 'in the middle of a block');
  const lying = Buffer.concat([tarMember({ path: 'lies', content: 'abc', size: 10_000 }), TAR_ZEROS]);
  t.equal((await unpack(lying)).status, 400);
  const short = Buffer.concat([
    tarMember({ path: 'lies', content: new RandomBytes(4).next(2000), size: 100 }),
    TAR_ZEROS,
  ]);
  t.equal((await unpack(short)).status, 400);
  const flipped = Buffer.from(whole);
  flipped[3] = 0x41;
  t.equal((await unpack(flipped)).status, 400, 'a wrong sum');
  t.equal((await unpack(new RandomBytes(5).next(10_240))).status, 400);
  t.match((await unpack(gzipSync(whole))).body, {
    status: 400,
    message: 'The archive is compressed: send it as a plain tar archive, uncompressed',
  });
  t.same(treeOf(FOLDER), before);
  t.same(temporary(), []);
  t.equal((await unpack(whole)).status, 201);
});

void t.test('an archive of very many members is refused', { timeout: patience(60_000) }, async (t) => {
  const before = treeOf(FOLDER);
  const members = Array.from({ length: 100_001 }, (_, index) => tarMember({ path: `many/${index}` }));
  const reply = await unpack(Buffer.concat([...members, TAR_ZEROS]));
  t.match(reply, { status: 409, body: { message: /too many files and folders in this archive/ } });
  t.same(treeOf(FOLDER), before);
});

void t.test('an archive whose client goes away in the middle leaves nothing', async (t) => {
  const before = treeOf(FOLDER);
  const archive = tarArchive([['gone', new RandomBytes(6).next(2 * MEGABYTE)]]);
  for (let round = 0; round < 3; round++) {
    const connection = await RawConnection.open(server.port);
    connection.write(
      `POST ${ARCHIVE} HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: ${archive.length}\r\n\r\n`,
    );
    connection.write(archive.subarray(0, MEGABYTE));
    await eventually('it is on its way', () => temporary().length > 0 || undefined);
    connection.vanish();
    await eventually('nothing is left of it', () => temporary().length === 0 || undefined);
  }
  t.same(treeOf(FOLDER), before);
});

void t.test('nothing of this went wrong', (t) => {
  t.equal(server.log(), '');
  t.end();
});
