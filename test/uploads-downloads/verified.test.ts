/** Uploads that are held against what their clients promised. */
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import t from 'tap';
import {
  base64,
  getImage,
  IMAGES,
  putImage,
  sha256,
  tagOf,
  nothingUnfinished,
} from '../support/image-transfers.js';
import { RandomBytes } from '../support/random.js';
import { chunked, jsonOf, RawConnection, requestBytes } from '../support/raw-client.js';
import { startServer } from '../support/server-process.js';

const server = await startServer(t, { environment: { WIREFARM_LOG_LEVEL: 'warn' } });
const images = join(server.data, 'images');
const BYTES = new RandomBytes(1).next(1_500_001);
const OTHER = new RandomBytes(2).next(1_500_001);

const promises = (bytes: Uint8Array): Record<string, Record<string, string>> => ({
  'Repr-Digest of SHA-256': { 'Repr-Digest': `sha-256=:${base64('sha256', bytes)}:` },
  'Repr-Digest of SHA-512': { 'Repr-Digest': `sha-512=:${base64('sha512', bytes)}:` },
  'Repr-Digest of both': {
    'Repr-Digest': `sha-512=:${base64('sha512', bytes)}:, sha-256=:${base64('sha256', bytes)}:`,
  },
  'Content-Digest': { 'Content-Digest': `sha-256=:${base64('sha256', bytes)}:` },
  'Content-Digest of MD5': { 'Content-Digest': `md5=:${base64('md5', bytes)}:` },
  'Content-MD5': { 'Content-MD5': base64('md5', bytes) },
});

for (const [name, headers] of Object.entries(promises(BYTES))) {
  void t.test(`a right ${name} is fine`, async (t) => {
    const image = encodeURIComponent(`right ${name}`);
    t.equal((await putImage(server, image, BYTES, headers)).status, 204);
    t.equal(sha256((await getImage(server, image)).body), sha256(BYTES));
  });
}

for (const [name, headers] of Object.entries(promises(OTHER))) {
  void t.test(`a wrong ${name} changes nothing`, async (t) => {
    const image = encodeURIComponent(`wrong ${name}`);
    t.equal((await putImage(server, image, BYTES, headers)).status, 400);
    t.notOk(existsSync(join(images, 'QEMU', `wrong ${name}`)), 'nothing is there');
    t.equal((await putImage(server, image, OTHER)).status, 204);
    const tag = tagOf(await getImage(server, image));
    const reply = await putImage(server, image, BYTES, headers);
    t.equal(reply.status, 400);
    t.match(jsonOf(reply), { status: 400, message: /differs/ });
    const after = await getImage(server, image);
    t.equal(tagOf(after), tag, 'what was there is there');
    t.equal(sha256(after.body), sha256(OTHER));
    await nothingUnfinished(images);
  });
}

void t.test('unreadable digests are refused, and promises that contradict each other', async (t) => {
  const right = `sha-256=:${base64('sha256', BYTES)}:`;
  const wrong = `sha-256=:${base64('sha256', OTHER)}:`;
  const hostile: Record<string, string>[] = [
    { 'Repr-Digest': 'sha-256=abc' },
    { 'Content-MD5': 'abc' },
    { 'Content-Digest': wrong, 'Repr-Digest': right },
    { 'Content-Digest': right, 'Repr-Digest': wrong },
  ];
  for (const headers of hostile) {
    t.equal((await putImage(server, 'hostile.img', BYTES, headers)).status, 400, JSON.stringify(headers));
  }
  t.notOk(existsSync(join(images, 'QEMU', 'hostile.img')));
  const unknown = { 'Repr-Digest': 'crc32c=:AAAAAA==:, constructor=:AAAA:' };
  t.equal(
    (await putImage(server, 'hostile.img', BYTES, unknown)).status,
    204,
    'what is not known is passed over',
  );
  await nothingUnfinished(images);
});

void t.test('a body in chunks is held against its digest, too', async (t) => {
  for (const [bytes, status] of [
    [BYTES, 204],
    [OTHER, 400],
  ] as const) {
    const connection = await RawConnection.open(server.port);
    const headers = { 'Transfer-Encoding': 'chunked', 'Repr-Digest': `sha-256=:${base64('sha256', BYTES)}:` };
    connection.write(requestBytes('POST', `${IMAGES}/chunked.img`, { headers }));
    connection.write(chunked(bytes.subarray(0, 1), bytes.subarray(1, 700_000), bytes.subarray(700_000)));
    t.equal((await connection.reply('POST')).status, status);
    connection.close();
  }
  t.ok(readFileSync(join(images, 'QEMU', 'chunked.img')).equals(BYTES));
  await nothingUnfinished(images);
});
