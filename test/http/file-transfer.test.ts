/** Large files both ways, uploads that meet, and clients that vanish at every stage. */
import { createHash } from 'node:crypto';
import { once } from 'node:events';
import { existsSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { request as httpRequest, type IncomingMessage } from 'node:http';
import { join } from 'node:path';
import { setTimeout as wait } from 'node:timers/promises';
import t from 'tap';
import { Client } from '../support/client.js';
import { descriptorsOf } from '../support/open-descriptors.js';
import { patience } from '../support/patience.js';
import { RandomBytes } from '../support/random.js';
import { RawConnection, requestBytes } from '../support/raw-client.js';
import { rounds } from '../support/rounds.js';
import { startServer } from '../support/server-process.js';

const SEED = 11;
const MEGABYTE = 1024 * 1024;
const LARGE = 100;
const ROUNDS = rounds(2, 5);
/** Half of what is moved: what the collector has not come to yet may be a good part of a file. */
const LARGEST_GROWTH = LARGE * ROUNDS * MEGABYTE;

const server = await startServer(t, { environment: { WIREFARM_LOG_LEVEL: 'warn' } });
const client = new Client(server.url);

async function makeProject(name: string): Promise<string> {
  return String((await client.expect(201, 'POST', '/v2/projects', { name }))['project_id']);
}

const folderOf = (project: string): string => join(server.data, 'projects', project);

function memory(): number {
  const status = readFileSync(`/proc/${server.child.pid ?? 0}/status`, 'utf8');
  return Number(/^VmRSS:\s+(\d+)/m.exec(status)?.[1]) * 1024;
}

const openDescriptors = (): number => descriptorsOf(server).length;

/** Uploads so many random megabytes; resolves with the status and the digest. */
async function upload(path: string, seed: number, megabytes: number): Promise<[number, string]> {
  const hash = createHash('sha256');
  const bytes = new RandomBytes(seed);
  const outgoing = httpRequest(server.url + path, {
    method: 'POST',
    headers: { 'Content-Length': megabytes * MEGABYTE },
  });
  const answered = once(outgoing, 'response') as Promise<[IncomingMessage]>;
  for (let sent = 0; sent < megabytes; sent++) {
    const piece = bytes.next(MEGABYTE);
    hash.update(piece);
    if (!outgoing.write(piece)) await once(outgoing, 'drain');
  }
  outgoing.end();
  const [response] = await answered;
  response.resume();
  return [response.statusCode ?? 0, hash.digest('hex')];
}

async function eventually(condition: () => boolean | Promise<boolean>): Promise<boolean> {
  for (const deadline = Date.now() + patience(60_000); Date.now() < deadline;) {
    if (await condition()) return true;
    await wait(50);
  }
  return false;
}

void t.test(
  'files go in and out intact, through less memory than they take',
  { timeout: patience(90_000) },
  async (t) => {
    const project = await makeProject('large');
    const before = memory();
    let most = before;
    const watch = setInterval(() => {
      most = Math.max(most, memory());
    }, 20);
    for (let round = 0; round < ROUNDS; round++) {
      const path = `/v2/projects/${project}/files/large.bin`;
      const [status, sent] = await upload(path, SEED + round, LARGE);
      t.equal(status, 201);
      const hash = createHash('sha256');
      const response = await fetch(server.url + path);
      for await (const bytes of response.body ?? []) hash.update(bytes as Uint8Array);
      t.equal(hash.digest('hex'), sent);
      t.equal(response.headers.get('content-length'), String(LARGE * MEGABYTE));
    }
    clearInterval(watch);
    t.comment(`grew by ${Math.round((most - before) / MEGABYTE)} MiB`);
    t.ok(most - before < LARGEST_GROWTH);
  },
);

void t.test('two uploads of one name at the same time leave one of them whole', async (t) => {
  const project = await makeProject('race');
  const path = `/v2/projects/${project}/files/one.bin`;
  const results = await Promise.all([upload(path, 1, 8), upload(path, 2, 8)]);
  t.strictSame(
    results.map(([status]) => status),
    [201, 201],
  );
  const stored = createHash('sha256')
    .update(readFileSync(join(folderOf(project), 'one.bin')))
    .digest('hex');
  t.ok(results.some(([, sent]) => sent === stored));
  t.strictSame(readdirSync(join(folderOf(project), 'tmp')), []);
});

void t.test('a file of no bytes is a file', async (t) => {
  const path = `/v2/projects/${await makeProject('empty')}/files/empty`;
  t.equal((await client.post(path)).status, 201);
  const reply = await client.get(path);
  t.equal(reply.status, 200);
  t.equal(reply.text, '');
});

void t.test('nothing is put into the folder of unfinished files, or in its place', async (t) => {
  const path = `/v2/projects/${await makeProject('staging')}/files/`;
  t.equal((await client.post(`${path}tmp`, 'x')).status, 403, 'before there is one');
  await client.expect(201, 'POST', `${path}first`, 'x');
  for (const name of ['tmp', 'tmp/x', './tmp//x']) {
    t.equal((await client.post(path + name, 'x')).status, 403, name);
  }
});

void t.test('an upload goes on when its project is closed meanwhile', async (t) => {
  const project = await makeProject('closing');
  const path = `/v2/projects/${project}/files/late.bin`;
  await client.expect(201, 'POST', `/v2/projects/${project}/files/first`, 'x');
  const connection = await RawConnection.open(server.port);
  const body = new RandomBytes(SEED).next(200_000);
  connection.write(requestBytes('POST', path, { headers: { 'Content-Length': String(body.length) } }));
  connection.write(body.subarray(0, 100_000));
  t.ok(await eventually(() => readdirSync(join(folderOf(project), 'tmp')).length === 1));
  await client.expect(204, 'POST', `/v2/projects/${project}/close`);
  connection.write(body.subarray(100_000));
  t.equal((await connection.reply('POST')).status, 201);
  t.strictSame(readFileSync(join(folderOf(project), 'late.bin')), Buffer.from(body));
  connection.close();
});

void t.test('the connection of a large upload serves the next request', async (t) => {
  const path = `/v2/projects/${await makeProject('kept')}/files/large`;
  const body = new RandomBytes(SEED).next(30 * MEGABYTE);
  const connection = await RawConnection.open(server.port);
  connection.write(requestBytes('POST', path, { body }));
  t.equal((await connection.reply('POST')).status, 201);
  connection.write(requestBytes('GET', '/v2/version'));
  t.equal((await connection.reply()).status, 200);
  connection.close();
});

void t.test(
  'clients that vanish at any stage leave nothing behind',
  { timeout: patience(60_000) },
  async (t) => {
    const project = await makeProject('vanishing');
    const path = `/v2/projects/${project}`;
    writeFileSync(join(folderOf(project), 'large.bin'), new RandomBytes(SEED).next(16 * MEGABYTE));
    await client.expect(201, 'POST', `${path}/files/warm`, 'x');
    const keeper = await RawConnection.open(server.port);
    const before = openDescriptors();
    const uploadHead = requestBytes('POST', `${path}/files/half.bin`, {
      headers: { 'Content-Length': '9000000' },
    });
    const bodyHead = requestBytes('POST', '/v2/projects', { headers: { 'Content-Length': '500' } });
    for (let round = 0; round < 10; round++) {
      const open = (): Promise<RawConnection> => RawConnection.open(server.port);
      const inHeaders = await open();
      inHeaders.write('GET /v2/version HTTP/1.1\r\nHost: local');
      const inBody = await open();
      inBody.write(Buffer.concat([bodyHead, Buffer.from('{"name":"half')]));
      const inUpload = await open();
      inUpload.write(Buffer.concat([uploadHead, Buffer.alloc(round * 100_000)]));
      const inDownload = await open();
      inDownload.send('GET', `${path}/files/large.bin`);
      await inDownload.head();
      inDownload.socket.pause();
      const inStream = await open();
      inStream.send('GET', `${path}/notifications`);
      await inStream.head();
      const idle = await open();
      const before204 = await open();
      before204.send('POST', `${path}/nodes/stop`);
      // Whole turns later the server is in the middle of some of these, and at the start of others.
      for (let turn = 0; turn < round; turn++) await client.get('/v2/version');
      for (const gone of [inHeaders, inBody, inUpload, inDownload, inStream, idle, before204]) {
        if (round % 2 === 0) gone.vanish();
        else gone.close();
      }
    }
    t.ok(await eventually(() => openDescriptors() <= before), 'every descriptor was given back');
    t.ok(
      await eventually(() => readdirSync(join(folderOf(project), 'tmp')).length === 0),
      'no half file is left',
    );
    t.notOk(existsSync(join(folderOf(project), 'half.bin')));
    t.notMatch((await client.get('/v2/projects')).text, /half/);
    t.equal(server.log(), '');
    keeper.close();
  },
);
