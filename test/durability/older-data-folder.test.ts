/**
 * A data folder that version 0.1.0 left when it was killed opens as it is. `running` was open, with two snapshots, a
 * half-made snapshot and a half-written file; `closed` was closed; of `deleted` the folder had been put out of the
 * way; a restore of `restored` had its commit, and half of its renames; an import and an upload were half received.
 */
import { execFileSync } from 'node:child_process';
import {
  mkdtempSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmdirSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { basename, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import t, { type Test } from 'tap';
import { Client, resultOf } from '../support/client.js';
import { cli, type Ended } from '../support/cli.js';
import { startServer } from '../support/server-process.js';

const ARCHIVE = fileURLToPath(new URL('../../../test/fixtures/data-0.1.0.tar.gz', import.meta.url));
/** Records have absolute paths, so this name of the folder is replaced by another of the same length. */
const FOLDER = 'wirefarm-000000';

const RUNNING = 'db76fecf-ac5f-430e-ba1f-c7dff27d086c';
const CLOSED = 'c2ea894c-9b00-4bc4-950c-d9b4a265011d';
const DELETED = 'c5a64275-4ecc-4fe3-b224-975acfb20c80';
const RESTORED = 'bb95c906-57ca-4e05-9b5c-c735f28bf209';
const SWITCH = '6db99872-7966-4bd5-a139-ba440a977064';
const RESTORED_SWITCH = 'ed8af340-1cd7-45ae-aabd-bc5d29253287';
const LINK = '39c2e07b-d0cb-4900-a091-b04b9313b851';
const FIRST = 'ca8eef76-99c8-4a9a-b115-1f0167c468eb';
const UPLOAD = '/v2/uploads/cfabe3e9-1055-4655-873f-3549b37b14f0';
const UPLOADED = 120_000;
const UPLOAD_LENGTH = 300_000;

type Json = Readonly<Record<string, unknown>>;

function dataFolder(t: Test): string {
  const folder = mkdtempSync('/tmp/wirefarm-');
  t.teardown(() => {
    rmSync(folder, { recursive: true, force: true });
  });
  // Without their times: an upload that nobody has touched for a day is given up.
  execFileSync('tar', ['xzmf', ARCHIVE, '-C', folder]);
  const store = join(folder, 'state/data.mdb');
  const text = readFileSync(store, 'latin1').replaceAll(FOLDER, basename(folder));
  writeFileSync(store, text, 'latin1');
  return folder;
}

function check(data: string): Promise<Ended> {
  return cli(t, ['serve', '--migrate=check', '--data', data]);
}

async function named(client: Client, path: string): Promise<string[]> {
  const { body } = await client.get(path);
  return (body as Json[]).map(({ name }) => String(name)).sort();
}

void t.test('a data folder of version 0.1.0 opens, and what was half done is finished or gone', async (t) => {
  const data = dataFolder(t);
  t.match(await check(data), { code: 0, output: / has format 1: a start writes it anew in format 2/ });
  const older = readFileSync(join(data, 'state/data.mdb'));
  const server = await startServer(t, { data });
  const client = new Client(server.url);
  t.strictSame(await named(client, '/v2/projects'), ['closed', 'restored', 'running']);
  for (const id of [RUNNING, RESTORED, CLOSED]) await client.expect(201, 'POST', `/v2/projects/${id}/open`);

  await t.test('records, links and files are there', async (t) => {
    t.strictSame(await named(client, `/v2/projects/${RUNNING}/nodes`), ['ATM1', 'FR1', 'HUB1', 'SW1']);
    const link = await client.expect(200, 'GET', `/v2/projects/${RUNNING}/links/${LINK}`);
    t.match(link, { filters: { delay: [50, 5] } });
    const directed = `/v2/projects/${RUNNING}/links/${LINK}/directed_filters`;
    t.match(await client.expect(200, 'GET', directed), { forward: { packet_loss: [7] }, seed: 42 });
    const startup = `/v2/projects/${RUNNING}/nodes/${SWITCH}/files/startup.cfg`;
    t.equal((await client.get(startup)).text, 'hostname CHANGED\n');
    t.equal((await client.get(`/v2/projects/${RUNNING}/files/README.txt`)).text, 'what this lab is for\n');
    t.match(await named(client, '/v2/templates'), /my switch/);
    t.match(await named(client, '/v2/computes'), /other/);
    t.equal((await client.get('/v2/symbols/mine.svg/raw')).status, 200);
    t.equal((await client.get('/v2/compute/qemu/images/small.qcow2')).status, 200);
    t.match(JSON.stringify((await client.get(`/v2/projects/${RUNNING}/captures`)).body), /kept\.pcap/);
  });

  await t.test('snapshots are whole, and can be restored', async (t) => {
    t.strictSame(await named(client, `/v2/projects/${RUNNING}/snapshots`), ['first', 'second']);
    const first = `/v2/projects/${RUNNING}/snapshots/${FIRST}`;
    t.match(await resultOf(client, 'POST', `${first}/verify`), { is_whole: true });
    await client.expect(201, 'POST', `${first}/restore`);
    const startup = `/v2/projects/${RUNNING}/nodes/${SWITCH}/files/startup.cfg`;
    t.equal((await client.get(startup)).text, 'hostname SW1\n');
  });

  await t.test('the restore that had its commit is finished', async (t) => {
    t.strictSame(await named(client, `/v2/projects/${RESTORED}/nodes`), ['S1']);
    const startup = `/v2/projects/${RESTORED}/nodes/${RESTORED_SWITCH}/files/startup.cfg`;
    t.equal((await client.get(startup)).text, 'as it was\n');
  });

  await t.test('the upload goes on from where it was', async (t) => {
    const tus = { 'Tus-Resumable': '1.0.0' };
    const head = await fetch(server.url + UPLOAD, { method: 'HEAD', headers: tus });
    t.equal(head.headers.get('upload-offset'), String(UPLOADED));
    const rest = await fetch(server.url + UPLOAD, {
      method: 'PATCH',
      headers: {
        ...tus,
        'Upload-Offset': String(UPLOADED),
        'Content-Type': 'application/offset+octet-stream',
      },
      body: Buffer.alloc(UPLOAD_LENGTH - UPLOADED, 1),
    });
    t.equal(rest.status, 204);
    const image = await fetch(`${server.url}/v2/compute/qemu/images/resumed.qcow2`);
    t.equal((await image.arrayBuffer()).byteLength, UPLOAD_LENGTH);
  });

  await t.test('nothing half-made is left', (t) => {
    const projects = readdirSync(join(data, 'projects')).filter((name) => name !== '.wirefarm');
    t.strictSame(projects.sort(), [RESTORED, CLOSED, RUNNING].sort());
    t.notOk(projects.includes(DELETED));
    for (const id of [RUNNING, RESTORED]) {
      const names = readdirSync(join(data, 'projects', id, 'snapshots'));
      t.notOk(
        names.includes('.work') && readdirSync(join(data, 'projects', id, 'snapshots/.work')).length > 0,
      );
    }
    t.notOk(readdirSync(join(data, 'projects', RUNNING)).includes('tmp'));
    t.end();
  });

  t.equal(await server.stop(), 0);
  const again = await startServer(t, { data });
  t.strictSame(await named(new Client(again.url), '/v2/projects'), ['closed', 'restored', 'running']);
  t.match(await check(data), { code: 0, output: / has format 2: a start leaves it as it is/ });
  t.equal(await again.stop(), 0);

  await t.test('the store before the step can be put back', async (t) => {
    const state = join(data, 'state');
    const before = join(state, 'before-2');
    t.ok(readFileSync(join(before, 'data.mdb')).equals(older), 'it is as it was');
    for (const name of ['journal', 'journal.previous']) rmSync(join(state, name), { force: true });
    for (const name of readdirSync(before)) renameSync(join(before, name), join(state, name));
    rmdirSync(before);
    t.match(await check(data), { code: 0, output: / has format 1/ });
    const back = await startServer(t, { data });
    t.strictSame(await named(new Client(back.url), '/v2/projects'), ['closed', 'restored', 'running']);
  });
});
