/** Files of a project's folder. */
import { existsSync, mkdirSync, readdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs';
import { request } from 'node:http';
import { join } from 'node:path';
import t from 'tap';
import { Client } from '../support/client.js';
import { eventually } from '../support/eventually.js';
import { seededRandom } from '../support/seeded-random.js';
import { startServer } from '../support/server-process.js';

type Json = Record<string, unknown>;

const server = await startServer(t);
const client = new Client(server.url);
const UNKNOWN = '11111111-2222-3333-4444-555555555555';
const refusal = (status: number, message: string): object => ({ status, body: { message, status } });
const MISSING = refusal(404, '404: Not Found');
const FORBIDDEN = refusal(403, '403: Forbidden');

const project = await client.expect(201, 'POST', '/v2/projects', { name: 'files', auto_close: false });
const path = `/v2/projects/${String(project['project_id'])}`;
const folder = String(project['path']);
const at = (name: string): string => `${path}/files/${name}`;

const random = seededRandom(20_261_121);
const someBytes = (length: number): Buffer =>
  Buffer.from(Uint8Array.from({ length }, () => Math.floor(random() * 256)));

async function bytesOf(name: string): Promise<{ response: Response; bytes: Buffer }> {
  const response = await fetch(server.url + at(name));
  return { response, bytes: Buffer.from(await response.arrayBuffer()) };
}

void t.test('a file that is written can be read, byte for byte', async (t) => {
  for (const length of [1, 4096, 1_500_000]) {
    const content = someBytes(length);
    const reply = await client.request('POST', at(`blob${length}`), content);
    t.equal(reply.status, 201);
    t.equal(reply.text, '');
    t.equal(reply.headers.get('content-length'), '0');
    t.equal(reply.headers.get('content-type'), null);
    t.ok(readFileSync(join(folder, `blob${length}`)).equals(content));
    const { response, bytes } = await bytesOf(`blob${length}`);
    t.equal(response.status, 200);
    t.equal(response.headers.get('content-length'), String(length));
    t.ok(bytes.equals(content));
  }
});

void t.test('a text file has its type, its length and its time', async (t) => {
  await client.request('POST', at('README.txt'), 'Größe');
  const reply = await client.get(at('README.txt'));
  t.equal(reply.text, 'Größe');
  t.equal(reply.headers.get('content-type'), 'text/plain');
  t.equal(reply.headers.get('content-length'), '7');
  t.ok(Date.parse(reply.headers.get('last-modified') ?? '') > 0);
  t.equal(reply.headers.get('x-route'), '/v2/projects/{project_id}/files/{path:.+}');
  await client.request('POST', at('thing.unknown'), 'x');
  t.equal((await client.get(at('thing.unknown'))).headers.get('content-type'), 'application/octet-stream');
});

void t.test('a body that looks like JSON is a file like any other', async (t) => {
  for (const content of ['{"name": ', '[]', '"']) {
    t.equal((await client.request('POST', at('odd.json'), content)).status, 201);
    t.equal(readFileSync(join(folder, 'odd.json'), 'utf8'), content);
  }
});

void t.test('an empty file is written and read', async (t) => {
  t.equal((await client.request('POST', at('empty'))).status, 201);
  t.equal(readFileSync(join(folder, 'empty')).length, 0);
  const reply = await client.get(at('empty'));
  t.equal(reply.status, 200);
  t.equal(reply.text, '');
  t.equal(reply.headers.get('content-length'), '0');
});

void t.test('a file is replaced as a whole', async (t) => {
  await client.request('POST', at('again'), 'a long first version');
  await client.request('POST', at('again'), 'short');
  t.equal((await client.get(at('again'))).text, 'short');
});

void t.test('folders are read from and written to, and never made', async (t) => {
  t.hasStrict(await client.request('POST', at('new/file'), 'x'), MISSING);
  t.notOk(existsSync(join(folder, 'new')));
  mkdirSync(join(folder, 'there', 'deep'), { recursive: true });
  t.equal((await client.request('POST', at('there/deep/file'), 'x')).status, 201);
  t.equal((await client.get(at('there/./deep/../deep/file'))).text, 'x');
});

void t.test('names may hold any character', async (t) => {
  for (const name of ['a b', 'was?', 'no#1', '100%', 'größe', '大', 'a+b&c=d', '.hidden']) {
    const encoded = at(encodeURIComponent(name));
    t.equal((await client.request('POST', encoded, name)).status, 201, name);
    t.equal(readFileSync(join(folder, name), 'utf8'), name);
    t.equal((await client.get(encoded)).text, name);
  }
});

void t.test('a missing file is not found', async (t) => {
  t.hasStrict(await client.get(at('nothing')), MISSING);
  t.hasStrict(await client.get(at('no/such/folder')), MISSING);
  const noProject = refusal(404, `Project ID ${UNKNOWN} doesn't exist`);
  t.hasStrict(await client.get(`/v2/projects/${UNKNOWN}/files/README.txt`), noProject);
  t.hasStrict(await client.request('POST', `/v2/projects/${UNKNOWN}/files/README.txt`, 'x'), noProject);
});

void t.test('nothing outside the project folder is read or written', async (t) => {
  const secret = join(server.data, 'secret.txt');
  writeFileSync(secret, 'secret');
  symlinkSync(secret, join(folder, 'link'));
  symlinkSync(server.data, join(folder, 'linked-folder'));
  const escapes = [
    '..%2F..%2Fsecret.txt',
    '%2e%2e%2f%2e%2e%2fsecret.txt',
    'there%2F..%2F..%2F..%2Fsecret.txt',
    encodeURIComponent(secret),
    'link',
    'linked-folder/secret.txt',
    '..%2F..',
    'a%00b',
  ];
  for (const name of escapes) {
    t.hasStrict(await client.get(at(name)), FORBIDDEN, `GET ${name}`);
    t.hasStrict(await client.request('POST', at(name), 'overwritten'), FORBIDDEN, `POST ${name}`);
  }
  t.equal(readFileSync(secret, 'utf8'), 'secret');
});

void t.test('a folder is no file', async (t) => {
  mkdirSync(join(folder, 'folder'));
  t.hasStrict(await client.request('POST', at('folder'), 'x'), { status: 409, body: { status: 409 } });
  t.hasStrict(await client.get(at('folder')), { status: 409, body: { status: 409 } });
  t.hasStrict(await client.request('POST', at('README.txt/inner'), 'x'), {
    status: 409,
    body: { status: 409 },
  });
});

void t.test('the topology file is read as it should be, and never overwritten', async (t) => {
  const { drawing_id } = await client.expect(201, 'POST', `${path}/drawings`);
  const file = JSON.parse((await client.get(at('files.gns3'))).text) as { topology: { drawings: Json[] } };
  t.equal(file.topology.drawings[0]?.['drawing_id'], drawing_id, 'with what was acknowledged just now');
  for (const name of ['files.gns3', './files.gns3', 'there/../files.gns3', 'other.gns3']) {
    const encoded = at(encodeURIComponent(name));
    t.hasStrict(await client.request('POST', encoded, '{}'), FORBIDDEN, name);
  }
  t.equal((JSON.parse((await client.get(at('files.gns3'))).text) as Json)['name'], 'files');
});

void t.test('a client that goes away in the middle leaves the file as it was', async (t) => {
  await client.request('POST', at('half'), 'whole');
  const upload = request(server.url + at('half'), { method: 'POST' });
  upload.on('error', () => undefined);
  upload.write(someBytes(100_000));
  const unpublished = (): number => readdirSync(join(folder, 'tmp')).length;
  await eventually('the upload has begun', () => unpublished() > 0 || undefined);
  upload.destroy();
  await eventually('what has come of it is removed', () => unpublished() === 0 || undefined);
  t.equal((await client.get(at('half'))).text, 'whole');
  t.equal((await client.request('POST', at('half'), 'next')).status, 201);
  t.equal((await client.get(at('half'))).text, 'next');
});

void t.test('two uploads of one file at the same moment end in one of the two', async (t) => {
  const contents = [someBytes(300_000), someBytes(200_000)];
  const replies = await Promise.all(
    contents.map((content) => client.request('POST', at('contended'), content)),
  );
  t.strictSame(
    replies.map(({ status }) => status),
    [201, 201],
  );
  const { bytes } = await bytesOf('contended');
  t.ok(contents.some((content) => content.equals(bytes)));
});

void t.test('HEAD tells the length without the content', async (t) => {
  await client.request('POST', at('long'), 'twelve bytes');
  const reply = await client.request('HEAD', at('long'));
  t.equal(reply.status, 200);
  t.equal(reply.headers.get('content-length'), '12');
  t.equal(reply.text, '');
});

void t.test('a closed project’s files can be read and written, and its topology file read', async (t) => {
  await client.expect(204, 'POST', `${path}/close`);
  t.equal((await client.get(at('README.txt'))).text, 'Größe');
  t.equal((await client.request('POST', at('later.txt'), 'written')).status, 201);
  t.equal((await client.get(at('later.txt'))).text, 'written');
  const { text } = await client.get(at('files.gns3'));
  t.hasStrict(await client.request('POST', at('files.gns3'), text), FORBIDDEN);
  t.equal((await client.get(at('files.gns3'))).text, text);
});
