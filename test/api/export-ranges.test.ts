/** Exports of stored members have a known length: a download that was broken off goes on where it was. */
import { closeSync, openSync, readdirSync, rmSync, truncateSync, writeFileSync, writeSync } from 'node:fs';
import { join } from 'node:path';
import t from 'tap';
import { Client, finished } from '../support/client.js';
import { eventually } from '../support/eventually.js';
import { writeFiles } from '../support/file-trees.js';
import { sendArchive } from '../support/project-archive-lab.js';
import { RandomBytes } from '../support/random.js';
import { headerOf, RawConnection } from '../support/raw-client.js';
import { scratchFolder } from '../support/scratch.js';
import { startServer } from '../support/server-process.js';
import { SnapshotLab } from '../support/snapshot-lab.js';
import { lackOf, seenByPython, testWithUnzip } from '../support/zip-making.js';

const server = await startServer(t, { environment: { WIREFARM_LOG_LEVEL: 'warn' } });
const client = new Client(server.url);
const programs = { skip: lackOf('python3') || lackOf('unzip') };
const MEBI = 1024 * 1024;
const LARGE = 'project-files/large.img';

/** With a snapshot, small files, and large ones. */
async function filledLab(name: string): Promise<SnapshotLab> {
  const lab = await SnapshotLab.make({ client, url: server.url }, { name, auto_close: false });
  const hub = await lab.lab.hub('H1');
  await lab.write(hub, 'startup.cfg', 'hostname near');
  writeFiles(lab.folder, {
    'README.txt': 'read me',
    'project-files/middling.img': new RandomBytes(1).next(700_001),
    [LARGE]: new RandomBytes(2).next(3 * MEBI + 5),
    'project-files/z': 'the last one',
  });
  return lab;
}

async function nothingIsLeft({ folder }: SnapshotLab): Promise<void> {
  const work = join(folder, 'snapshots/.work');
  await eventually('nothing is left of it', () => readdirSync(work).length === 0 || undefined);
}

function get(path: string, headers: Readonly<Record<string, string>> = {}): Promise<Response> {
  return fetch(`${server.url}${path}`, { headers });
}

async function bytesOf(response: Response): Promise<Buffer> {
  return Buffer.from(await response.arrayBuffer());
}

void t.test('parts that are put together are the whole, and programs read it', programs, async (t) => {
  const lab = await filledLab('parts');
  const snapshot = await lab.take('one');
  for (const path of [
    `${lab.path}/export?compression=none`,
    `${lab.path}/export?compression=none&include_snapshots=yes`,
    `${lab.at(snapshot)}/archive`,
  ]) {
    const reply = await get(path);
    const whole = await bytesOf(reply);
    const tag = String(reply.headers.get('etag'));
    t.equal(reply.headers.get('content-length'), String(whole.length));
    t.equal(reply.headers.get('content-type'), 'application/gns3project');
    t.match(tag, /^"[\w-]{43}"$/);
    const file = join(scratchFolder(t), 'whole.zip');
    writeFileSync(file, whole);
    testWithUnzip(file);
    t.equal(seenByPython(file)[0]?.name, 'project.gns3');

    const parts: Buffer[] = [];
    const ends = [1, 29, 300, 400_000, 1_000_000, 2_000_003, whole.length - 30, whole.length];
    for (const [index, end] of ends.entries()) {
      const start = index === 0 ? 0 : (ends[index - 1] ?? 0);
      const part = await get(path, { Range: `bytes=${start}-${end - 1}`, 'If-Range': tag });
      t.equal(part.status, 206);
      t.equal(part.headers.get('content-range'), `bytes ${start}-${end - 1}/${whole.length}`);
      parts.push(await bytesOf(part));
    }
    t.ok(Buffer.concat(parts).equals(whole), path);
    t.ok((await bytesOf(await get(path, { Range: 'bytes=-1000' }))).equals(whole.subarray(-1000)));
    t.equal((await get(path, { 'If-None-Match': tag })).status, 304);
    const head = await fetch(`${server.url}${path}`, { method: 'HEAD' });
    t.equal(head.headers.get('content-length'), String(whole.length));
  }
});

void t.test('an export that has changed meanwhile is sent as a whole', async (t) => {
  const lab = await filledLab('changing');
  const path = `${lab.path}/export?compression=none`;
  const reply = await get(path);
  const tag = String(reply.headers.get('etag'));
  const whole = await bytesOf(reply);
  const resumed = async (): Promise<number> => {
    const part = await get(path, { Range: 'bytes=1000-', 'If-Range': tag });
    const bytes = await bytesOf(part);
    return part.status === 206 ? bytes.length : part.status;
  };
  t.equal(await resumed(), whole.length - 1000);
  writeFileSync(join(lab.folder, 'README.txt'), 'READ ME');
  t.equal(await resumed(), 200, 'a file of the same length');
  rmSync(join(lab.folder, 'README.txt'));
  await lab.lab.hub('H2');
  t.equal(await resumed(), 200, 'another node');
});

void t.test('hostile ranges', async (t) => {
  const lab = await filledLab('hostile');
  const path = `${lab.path}/export?compression=none`;
  const whole = await bytesOf(await get(path));
  const far = String(2n ** 70n);
  for (const [range, status, length] of [
    ['bytes=0-0', 206, 1],
    [`bytes=0-${far}`, 206, whole.length],
    [`bytes=-${far}`, 206, whole.length],
    [`bytes=${whole.length - 1}-`, 206, 1],
    [`bytes=${whole.length}-`, 416, undefined],
    [`bytes=${far}-`, 416, undefined],
    ['bytes=-0', 416, undefined],
    ['bytes=5-4', 200, whole.length],
    ['bytes=0-1,3-4', 200, whole.length],
    ['bytes=a-b', 200, whole.length],
    ['lines=0-1', 200, whole.length],
    [`bytes=${'9'.repeat(3000)}-`, 200, whole.length],
  ] as const) {
    const reply = await get(path, { Range: range });
    const bytes = await bytesOf(reply);
    t.equal(reply.status, status, range);
    if (length !== undefined) t.equal(bytes.length, length, range);
  }
  await nothingIsLeft(lab);
});

void t.test('an export that was put together from parts is imported as the same lab', async (t) => {
  const lab = await filledLab('imported');
  await lab.take('before');
  const path = `${lab.path}/export?compression=none&include_snapshots=yes`;
  const first = await bytesOf(await get(path, { Range: 'bytes=0-999999' }));
  const rest = await bytesOf(await get(path, { Range: 'bytes=1000000-' }));
  const { status, body } = await sendArchive(client, Buffer.concat([first, rest]));
  t.equal(status, 201);
  const copy = `/v2/projects/${(body as { project_id: string }).project_id}`;
  for (const file of ['README.txt', LARGE, 'project-files/middling.img']) {
    const [ours, theirs] = [await get(`${lab.path}/files/${file}`), await get(`${copy}/files/${file}`)];
    t.ok((await bytesOf(ours)).equals(await bytesOf(theirs)), file);
  }
  const [taken] = (await client.get(`${copy}/snapshots`)).body as { snapshot_id: string }[];
  t.match((await finished(client, 'POST', `${copy}/snapshots/${String(taken?.snapshot_id)}/verify`)).body, {
    is_whole: true,
  });
});

const LONG = 32 * MEBI;

/** Programs that know the folder may do these; the server never does. */
const changes: Readonly<Record<string, (path: string) => void>> = {
  'is cut short': (path) => {
    truncateSync(path, LONG / 2);
  },
  'is written into': (path) => {
    const fd = openSync(path, 'r+');
    writeSync(fd, 'another content');
    closeSync(fd);
  },
};

for (const [what, change] of Object.entries(changes)) {
  void t.test(`a file that ${what} while it is sent breaks the download off`, async (t) => {
    const lab = await filledLab(what);
    const bytes = new RandomBytes(4).next(LONG);
    writeFileSync(join(lab.folder, LARGE), bytes);
    const connection = await RawConnection.open(server.port);
    connection.send('GET', `${lab.path}/export?compression=none`);
    const head = await connection.head();
    connection.socket.pause();
    change(join(lab.folder, LARGE));
    connection.socket.resume();
    const body = await connection.bytes(Number(headerOf(head, 'content-length'))).catch(() => undefined);
    if (body === undefined) await connection.closed();
    // Where blocks are shared the archive has a file of its own.
    t.ok(body?.includes(bytes) ?? true, 'no client takes a mixture for the file');
    connection.close();
    await nothingIsLeft(lab);
  });
}

void t.test('a file that goes or grows while it is sent is in the archive as it was', async (t) => {
  const lab = await filledLab('going');
  const path = join(lab.folder, LARGE);
  const bytes = new RandomBytes(5).next(LONG);
  writeFileSync(path, bytes);
  const connection = await RawConnection.open(server.port);
  connection.send('GET', `${lab.path}/export?compression=none`);
  const head = await connection.head();
  connection.socket.pause();
  rmSync(path);
  writeFileSync(path, 'a new file of the same name');
  connection.socket.resume();
  const body = await connection.bytes(Number(headerOf(head, 'content-length')));
  t.ok(body.includes(bytes));
  connection.vanish();
});

void t.test('a client that vanishes leaves nothing', async () => {
  const lab = await filledLab('vanishing');
  writeFileSync(join(lab.folder, LARGE), new RandomBytes(6).next(LONG));
  for (const compression of ['none', 'zip']) {
    const connection = await RawConnection.open(server.port);
    connection.send('GET', `${lab.path}/export?compression=${compression}`);
    await connection.head();
    connection.vanish();
    await nothingIsLeft(lab);
  }
});

void t.test('the server had nothing to complain of', (t) => {
  t.equal(server.log(), '');
  t.end();
});
