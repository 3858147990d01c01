/** Resumable uploads over HTTP: the protocol, what it refuses, and what is told of uploads. */
import { createHash } from 'node:crypto';
import { existsSync, mkdirSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import t from 'tap';
import { Client } from '../support/client.js';
import { eventually } from '../support/eventually.js';
import { gns3Node, placeGns3Project } from '../support/gns3-project.js';
import { NotificationLog } from '../support/notification-log.js';
import { descriptorsOf, noMoreDescriptors } from '../support/open-descriptors.js';
import { RandomBytes } from '../support/random.js';
import { headerOf, RawConnection, rawRequest, requestBytes } from '../support/raw-client.js';
import { scratchFolder } from '../support/scratch.js';
import { startServer } from '../support/server-process.js';
import { fillDisk, NO_MOUNT, smallDisk } from '../support/small-disk.js';
import { image, metadataOf, OFFSET_STREAM, TUS, TusTalk } from '../support/tus.js';

const MEGABYTE = 1024 * 1024;
const UPLOADS = '/v2/uploads';
const data = scratchFolder(t);
mkdirSync(join(data, 'projects'));
const node = gns3Node('qemu');
const lab = placeGns3Project(join(data, 'projects'), 'lab', { nodes: [node], head: { auto_close: false } });
const server = await startServer(t, { data, environment: { WIREFARM_LOG_LEVEL: 'warn' } });
const client = new Client(server.url);
const tus = new TusTalk(client);
await client.expect(201, 'POST', `/v2/projects/${lab.id}/open`);

const random = new RandomBytes(11);
const landed = (name: string): Buffer => readFileSync(join(data, 'images', 'QEMU', name));
const parts = (): string[] => readdirSync(join(data, 'uploads')).filter((name) => name.endsWith('.part'));
const partOf = (path: string): string =>
  join(data, 'uploads', `${path.slice(path.lastIndexOf('/') + 1)}.part`);
const hash = (name: string, bytes: Uint8Array): Buffer => createHash(name).update(bytes).digest();

interface Shown {
  readonly upload_id: string;
  readonly received: number;
  readonly state: string;
}
const list = async (): Promise<Shown[]> => (await client.get(UPLOADS)).body as Shown[];
const shown = async (path: string): Promise<Shown> => (await client.get(path)).body as Shown;

/** A request that has sent only the first bytes of what it has declared. */
async function halfSent(
  path: string,
  offset: number,
  declared: number,
  bytes: Uint8Array,
): Promise<RawConnection> {
  const connection = await RawConnection.open(server.port);
  const head = requestBytes('PATCH', path, {
    headers: {
      ...TUS,
      'Upload-Offset': String(offset),
      'Content-Type': OFFSET_STREAM,
      'Content-Length': String(declared),
    },
  });
  connection.write(Buffer.concat([head, bytes]));
  await eventually('the bytes are there', async () =>
    (await shown(path)).received >= offset + bytes.length ? true : undefined,
  );
  return connection;
}

void t.test('the server says what it offers', async (t) => {
  const offered = await rawRequest(server.port, 'OPTIONS', UPLOADS);
  t.equal(offered.status, 204);
  t.equal(headerOf(offered, 'Tus-Resumable'), '1.0.0');
  t.equal(headerOf(offered, 'Tus-Version'), '1.0.0');
  t.equal(
    headerOf(offered, 'Tus-Extension'),
    'creation,creation-with-upload,termination,checksum,expiration',
  );
  t.equal(headerOf(offered, 'Tus-Checksum-Algorithm'), 'sha1,sha256,sha512,md5');
  t.equal(headerOf(offered, 'Tus-Max-Size'), undefined);

  const Origin = 'http://localhost:4200';
  const page = await rawRequest(server.port, 'OPTIONS', UPLOADS, { headers: { Origin } });
  t.equal(headerOf(page, 'Tus-Version'), '1.0.0', 'a page may ask, too');
  t.match(headerOf(page, 'Access-Control-Expose-Headers'), /Location.*Tus-Resumable.*Upload-Offset/);
  const preflight = await rawRequest(server.port, 'OPTIONS', `${UPLOADS}/x`, {
    headers: { Origin, 'Access-Control-Request-Method': 'PATCH' },
  });
  t.equal(preflight.status, 200);
  t.match(headerOf(preflight, 'Access-Control-Allow-Methods'), /PATCH/);
  t.equal(headerOf(preflight, 'Tus-Version'), undefined);
  const wrong = await rawRequest(server.port, 'PUT', UPLOADS);
  t.equal(headerOf(wrong, 'Allow'), 'GET, HEAD, POST, OPTIONS');
});

void t.test('an image in three requests', async (t) => {
  const content = random.next(3 * MEGABYTE + 17);
  const metadata = image('sub folder/Gerät 1.img', { sha256: hash('sha256', content).toString('hex') });
  const begun = await tus.begin(content.length, metadata);
  t.equal(begun.status, 201);
  t.match(begun.headers.get('upload-expires'), /GMT$/);
  const path = begun.headers.get('location') ?? '';
  t.match(path, /^\/v2\/uploads\/[0-9a-f-]{36}$/);

  const first = await tus.patch(path, 0, content.subarray(0, MEGABYTE));
  t.same([first.status, first.headers.get('upload-offset')], [204, String(MEGABYTE)]);
  const asked = await tus.head(path);
  t.same(
    ['upload-offset', 'upload-length', 'upload-metadata', 'cache-control', 'tus-resumable'].map((name) =>
      asked.headers.get(name),
    ),
    [String(MEGABYTE), String(content.length), metadataOf(metadata), 'no-store', '1.0.0'],
  );
  t.match(await shown(path), {
    emulator: 'qemu',
    filename: 'sub folder/Gerät 1.img',
    protocol: 'tus',
    received: MEGABYTE,
    size: content.length,
    state: 'waiting',
  });
  const second = { offset: MEGABYTE, bytes: content.subarray(MEGABYTE, 3 * MEGABYTE) };
  t.equal((await tus.patch(path, second.offset, second.bytes)).status, 204);
  t.notOk(existsSync(join(data, 'images/QEMU/sub folder')), 'nothing has landed yet');
  const last = await tus.patch(path, 3 * MEGABYTE, content.subarray(3 * MEGABYTE));
  t.same([last.status, last.headers.get('upload-offset')], [204, String(content.length)]);
  t.ok(landed('sub folder/Gerät 1.img').equals(content));
  t.equal(await tus.offset(path), content.length, 'who has missed the answer sends nothing again');
  t.match(await shown(path), { state: 'finished' });
  t.same(await list(), []);
  t.equal((await tus.delete(path)).status, 204);
  t.equal((await tus.head(path)).status, 404);
  t.ok(landed('sub folder/Gerät 1.img').equals(content), 'what has landed stays');
});

void t.test('a file of a node', async (t) => {
  const content = random.next(70_000);
  const target = { project_id: lab.id, node_id: node.node_id };
  const path = await tus.created(content.length, { ...target, filename: 'x', path: 'configs/startup.cfg' });
  t.equal((await tus.patch(path, 0, content)).status, 204);
  const file = `/v2/projects/${lab.id}/nodes/${node.node_id}/files/configs/startup.cfg`;
  const response = await fetch(server.url + file);
  t.ok(Buffer.from(await response.arrayBuffer()).equals(content));
  const unknown = '00000000-0000-4000-8000-000000000000';
  for (const [status, entries] of [
    [404, { ...target, project_id: unknown, path: 'a' }],
    [404, { ...target, node_id: unknown, path: 'a' }],
    [403, { ...target, path: '../../lab.gns3' }],
    [403, { ...target, path: '.hidden' }],
    [400, { project_id: lab.id, path: 'a' }],
  ] as const)
    t.equal((await tus.begin(5, entries)).status, status, JSON.stringify(entries));
  t.same(parts(), []);
});

void t.test('creation brings the first bytes, or all of them, or none', async (t) => {
  const content = random.next(MEGABYTE);
  const media = { 'Content-Type': OFFSET_STREAM };
  const whole = await tus.begin(content.length, image('whole.img'), media, content);
  t.same([whole.status, whole.headers.get('upload-offset')], [201, String(content.length)]);
  t.ok(landed('whole.img').equals(content));

  const some = await tus.begin(content.length, image('some.img'), media, content.subarray(0, 1000));
  t.same([some.status, some.headers.get('upload-offset')], [201, '1000']);
  const path = some.headers.get('location') ?? '';
  t.equal((await tus.patch(path, 1000, content.subarray(1000))).status, 204);
  t.ok(landed('some.img').equals(content));

  t.equal((await tus.begin(0, image('none.img'))).status, 201);
  t.equal(landed('none.img').length, 0);

  const wrong = { ...media, 'Upload-Checksum': `md5 ${hash('md5', Buffer.from('x')).toString('base64')}` };
  t.equal((await tus.begin(5, image('wrong.img'), wrong, Buffer.from('hello'))).status, 460);
  t.equal((await tus.begin(5, image('type.img'), {}, Buffer.from('hello'))).status, 415);
  t.same(await list(), []);
  t.same(parts(), []);
});

void t.test('checksums: what does not match is taken away, whatever the algorithm', async (t) => {
  const content = random.next(200_000);
  const path = await tus.created(content.length, image('sums.img'));
  let offset = 0;
  for (const name of ['sha1', 'sha256', 'sha512', 'md5']) {
    const bytes = content.subarray(offset, offset + 50_000);
    const sum = (of: Uint8Array): Record<string, string> => ({
      'Upload-Checksum': `${name} ${hash(name, of).toString('base64')}`,
    });
    const wrong = await tus.patch(path, offset, bytes, sum(Buffer.from('x')));
    t.equal(wrong.status, 460);
    t.equal(wrong.headers.get('tus-resumable'), '1.0.0');
    t.equal(await tus.offset(path), offset);
    t.equal(readFileSync(partOf(path)).length, offset, 'nothing of it is in the part');
    t.equal((await tus.patch(path, offset, bytes, sum(bytes))).status, 204);
    offset += 50_000;
  }
  t.ok(landed('sums.img').equals(content));
  const other = await tus.created(5, image('sums.img'));
  const unknown = { 'Upload-Checksum': 'crc32 AAAAAA==' };
  t.equal((await tus.patch(other, 0, Buffer.from('hello'), unknown)).status, 400);
  t.equal(await tus.offset(other), 0);
  await tus.delete(other);
});

void t.test('a digest that was promised and is not met: nothing lands', async (t) => {
  for (const pieces of [1, 2]) {
    for (const promise of [{ sha256: 'a'.repeat(64) }, { md5: 'b'.repeat(32) }]) {
      const path = await tus.created(10, image('promised.img', promise));
      if (pieces === 2) await tus.patch(path, 0, Buffer.from('01234'));
      const offset = pieces === 2 ? 5 : 0;
      t.equal((await tus.patch(path, offset, Buffer.from('0123456789').subarray(offset))).status, 460);
      t.equal((await tus.head(path)).status, 404);
    }
  }
  t.notOk(existsSync(join(data, 'images/QEMU/promised.img')));
  t.same(parts(), []);
});

void t.test('more bytes than were declared, told before or not', async (t) => {
  const path = await tus.created(10, image('long.img'));
  t.equal((await tus.patch(path, 0, Buffer.from('01234'))).status, 204);
  t.equal((await tus.patch(path, 5, Buffer.from('56789x'))).status, 413);
  const inChunks = await rawRequest(server.port, 'PATCH', path, {
    headers: {
      ...TUS,
      'Upload-Offset': '5',
      'Content-Type': OFFSET_STREAM,
      'Transfer-Encoding': 'chunked',
    },
    body: '6\r\n56789x\r\n0\r\n\r\n',
  });
  t.equal(inChunks.status, 413);
  t.equal(readFileSync(partOf(path)).toString(), '01234');
  const rest = await rawRequest(server.port, 'PATCH', path, {
    headers: {
      ...TUS,
      'Upload-Offset': '5',
      'Content-Type': OFFSET_STREAM,
      'Transfer-Encoding': 'chunked',
    },
    body: '5\r\n56789\r\n0\r\n\r\n',
  });
  t.same([rest.status, headerOf(rest, 'Upload-Offset')], [204, '10']);
  t.equal(landed('long.img').toString(), '0123456789');
});

void t.test('requests that the protocol does not allow', async (t) => {
  const path = await tus.created(10, image('rules.img'));
  await tus.patch(path, 0, Buffer.from('01234'));
  for (const version of [undefined, '', '0.2.2', '1.0', '1.0.0, 2.0.0']) {
    const headers: Record<string, string> = version === undefined ? {} : { 'Tus-Resumable': version };
    for (const [method, on] of [
      ['POST', UPLOADS],
      ['PATCH', path],
      ['HEAD', path],
      ['DELETE', path],
    ] as const) {
      const reply = await rawRequest(server.port, method, on, { headers });
      t.equal(reply.status, 412, `${method} ${version ?? 'without'}`);
      t.equal(headerOf(reply, 'Tus-Version'), '1.0.0');
    }
  }
  t.equal((await client.get(path)).status, 200, 'a GET does without');
  for (const offset of ['0', '4', '6', '10'])
    t.equal((await tus.patch(path, offset, Buffer.from('56789'))).status, 409, offset);
  for (const offset of ['', '-5', '5.0', 'x', '9'.repeat(30)])
    t.equal((await tus.patch(path, offset, Buffer.from('56789'))).status, 400, offset);
  for (const media of ['', 'application/octet-stream'])
    t.equal((await tus.patch(path, 5, Buffer.from('56789'), { 'Content-Type': media })).status, 415, media);
  t.equal(await tus.offset(path), 5);
  const override = { ...TUS, 'X-HTTP-Method-Override': 'PATCH', 'Content-Type': OFFSET_STREAM };
  const posted = await client.request('POST', path, '56789', { ...override, 'Upload-Offset': '5' });
  t.equal(posted.status, 204, 'for clients that cannot PATCH');
  t.equal((await client.request('POST', path, undefined, TUS)).status, 405);
  const removed = { ...TUS, 'X-HTTP-Method-Override': 'DELETE' };
  t.equal((await client.request('POST', path, undefined, removed)).status, 204);
  t.equal((await tus.head(path)).status, 404);
});

void t.test('nothing hostile reaches the disk', async (t) => {
  for (const size of ['', '-1', '1.5', '1e9', 'x', '9007199254740992', '99999999999999999999', '0x10'])
    t.equal((await tus.begin(size, image('a.img'))).status, 400, size);
  t.equal((await tus.begin('9007199254740991', image('a.img'))).status, 507, 'larger than the disk');
  for (const [name, value] of [
    ['Upload-Defer-Length', '1'],
    ['Upload-Concat', 'partial'],
  ] as const)
    t.match((await tus.begin(5, image('a.img'), { [name]: value })).body, {
      status: 400,
      message: new RegExp(name),
    });
  for (const metadata of [
    '',
    'filename',
    'filename $$$$',
    'filename YQ==,filename YQ==',
    ' , , ',
    `filename ${'QUFB'.repeat(3000)}`,
    metadataOf({ emulator: 'docker', filename: 'a' }),
    metadataOf({ emulator: 'qemu' }),
    metadataOf({ filename: 'a' }),
    metadataOf(image('a', { sha256: 'zz' })),
    metadataOf(image('a', { project_id: lab.id })),
    'emulator cWVtdQ==,filename //8=',
  ])
    t.equal((await tus.begin(5, {}, { 'Upload-Metadata': metadata })).status, 400, metadata.slice(0, 60));
  for (const name of ['../x.img', '/etc/x.img', 'a/../../../x', '..%2fx', 'a\0b', '..\\..\\x'])
    t.match((await tus.begin(5, image(name))).status, /^40[03]$/, name);
  const huge = await rawRequest(server.port, 'POST', UPLOADS, {
    headers: { ...TUS, 'Upload-Length': '5', 'Upload-Metadata': `a ${'QUFB'.repeat(10_000)}` },
  });
  t.match(huge.status, /^4/);

  const outside = readdirSync(data).sort();
  for (const id of [
    '..',
    '%2e%2e',
    '..%2f..%2fa',
    '%2fetc%2fpasswd',
    'a%00',
    '*',
    'constructor',
    '__proto__',
  ]) {
    for (const method of ['GET', 'HEAD', 'PATCH', 'DELETE']) {
      const reply = await rawRequest(server.port, method, `${UPLOADS}/${id}`, {
        headers: { ...TUS, 'Upload-Offset': '0', 'Content-Type': OFFSET_STREAM },
      });
      t.equal(reply.status, 404, `${method} ${id}`);
    }
  }
  t.same(readdirSync(data).sort(), outside);
  t.same(parts(), []);
  t.same(await list(), []);
});

void t.test('a client that vanishes leaves exactly what has arrived, and nothing open', async (t) => {
  const content = random.next(5 * MEGABYTE);
  const path = await tus.created(content.length, image('vanish.img'));
  const before = descriptorsOf(server).length;
  for (const end of [1, 300_000, 300_001, 4 * MEGABYTE]) {
    const offset = await tus.offset(path);
    const connection = await halfSent(path, offset, content.length - offset, content.subarray(offset, end));
    t.match(await shown(path), { state: 'receiving' });
    connection.vanish();
    await eventually('it waits', async () => ((await shown(path)).state === 'waiting' ? true : undefined));
    t.equal((await shown(path)).received, end);
    t.ok(readFileSync(partOf(path)).equals(content.subarray(0, end)));
  }
  t.equal((await tus.patch(path, 4 * MEGABYTE, content.subarray(4 * MEGABYTE))).status, 204);
  t.ok(landed('vanish.img').equals(content));
  await noMoreDescriptors(server, before + 2);
});

void t.test('a new request takes over from one that still holds the upload', async (t) => {
  const content = random.next(2 * MEGABYTE);
  const path = await tus.created(content.length, image('over.img'));
  const first = await halfSent(path, 0, content.length, content.subarray(0, MEGABYTE));
  t.equal(await tus.offset(path), MEGABYTE);
  first.write(content.subarray(MEGABYTE, MEGABYTE + 1000));
  const refused = await first.reply('PATCH');
  t.equal(refused.status, 409);
  t.equal(await tus.offset(path), MEGABYTE, 'what it sends after that is not wanted');

  const second = await halfSent(path, MEGABYTE, MEGABYTE, content.subarray(MEGABYTE, MEGABYTE + 5));
  const third = await tus.patch(path, MEGABYTE + 5, content.subarray(MEGABYTE + 5));
  t.equal(third.status, 204);
  t.equal((await second.reply('PATCH')).status, 409);
  t.ok(landed('over.img').equals(content));

  const given = await tus.created(10, image('given up.img'));
  const holder = await halfSent(given, 0, 10, Buffer.from('01234'));
  t.equal((await tus.delete(given)).status, 204);
  t.match((await holder.reply('PATCH')).status, /^40[49]$/);
  t.same(parts(), []);
});

void t.test('two uploads of one name: each lands whole, the later one stays', async (t) => {
  const contents = [random.next(MEGABYTE), random.next(MEGABYTE)] as const;
  const paths = await Promise.all(contents.map(() => tus.created(MEGABYTE, image('twice.img'))));
  for (const offset of [0, MEGABYTE / 2]) {
    await Promise.all(
      paths.map((path, index) =>
        tus.patch(path, offset, (contents[index] ?? contents[0]).subarray(offset, offset + MEGABYTE / 2)),
      ),
    );
  }
  t.ok(contents.some((content) => landed('twice.img').equals(content)));
  for (const path of paths) t.equal(await tus.offset(path), MEGABYTE);
});

void t.test('uploads are announced, and listed while they are on their way', async (t) => {
  const log = await NotificationLog.open(`${server.url}/v2/notifications`);
  t.teardown(() => {
    log.close();
  });
  const content = random.next(2 * MEGABYTE);
  const path = await tus.created(content.length, image('told.img'));
  const id = path.slice(path.lastIndexOf('/') + 1);
  const holder = await halfSent(path, 0, content.length, content.subarray(0, MEGABYTE));
  const ofIt = (action: string) => (notification: { action: string; event: object }) =>
    notification.action === action &&
    'upload_id' in notification.event &&
    notification.event.upload_id === id;
  t.match((await log.next(ofIt('upload.created'))).event, { size: content.length, protocol: 'tus' });
  t.match((await log.next(ofIt('upload.updated'))).event, { received: MEGABYTE, state: 'receiving' });
  t.match(await list(), [{ upload_id: id, state: 'receiving', received: MEGABYTE }]);
  holder.write(content.subarray(MEGABYTE));
  t.equal((await holder.reply('PATCH')).status, 204);
  t.match((await log.next(ofIt('upload.finished'))).event, { received: content.length, state: 'finished' });
  await tus.delete(await tus.created(5, image('gone.img')));
  await log.next(({ action, event }) => action === 'upload.deleted' && event['filename'] === 'gone.img');

  const plain = await RawConnection.open(server.port);
  const head = requestBytes('POST', '/v2/compute/qemu/images/plain.img', {
    headers: { 'Content-Length': String(content.length) },
  });
  plain.write(Buffer.concat([head, content.subarray(0, MEGABYTE)]));
  const isPlain = (event: object): boolean => 'filename' in event && event.filename === 'plain.img';
  await log.next(({ action, event }) => action === 'upload.created' && isPlain(event));
  t.match(await list(), [
    { protocol: 'http', filename: 'plain.img', size: content.length, expires_at: null },
  ]);
  plain.write(content.subarray(MEGABYTE));
  t.equal((await plain.reply('POST')).status, 204);
  plain.close();
  await log.next(({ action, event }) => action === 'upload.finished' && isPlain(event));
  t.same(await list(), []);
});

void t.test('a disk that fills up: 507, and the upload goes on when there is room', async (t) => {
  const disk = smallDisk(t, 40 * 1024);
  if (disk === undefined) {
    t.pass(NO_MOUNT);
    return;
  }
  const small = await startServer(t, { data: disk, environment: { WIREFARM_LOG_LEVEL: 'warn' } });
  const talk = new TusTalk(new Client(small.url));
  const content = random.next(8 * MEGABYTE);
  const path = await talk.created(content.length, image('full.img'));
  t.equal((await talk.patch(path, 0, content.subarray(0, MEGABYTE))).status, 204);
  const giveBack = fillDisk(disk, 3 * MEGABYTE);
  t.equal((await talk.begin(8 * MEGABYTE, image('other.img'))).status, 507, 'what is told not to fit');
  t.equal((await talk.patch(path, MEGABYTE, content.subarray(MEGABYTE))).status, 507);
  const offset = await talk.offset(path);
  t.ok(offset > MEGABYTE && offset < 5 * MEGABYTE, `${offset} bytes were written`);
  giveBack();
  t.equal((await talk.patch(path, offset, content.subarray(offset))).status, 204);
  t.ok(readFileSync(join(disk, 'images/QEMU/full.img')).equals(content));
  t.equal(small.log(), '');
});

void t.test('nothing of all this was a fault of the server', (t) => {
  t.equal(server.log(), '');
  t.end();
});
