/** Images that are replaced: what is read is one or the other, and what is the same is not written. */
import { statSync } from 'node:fs';
import { join } from 'node:path';
import t from 'tap';
import { eventually } from '../support/eventually.js';
import {
  getImage,
  IMAGES,
  putImage,
  sha256,
  tagOf,
  nothingUnfinished,
  unfinishedImages,
  writtenBy,
} from '../support/image-transfers.js';
import { RandomBytes } from '../support/random.js';
import { headerOf, RawConnection, requestBytes } from '../support/raw-client.js';
import { startServer } from '../support/server-process.js';

const MEBIBYTE = 1024 * 1024;
const LENGTH = 24 * MEBIBYTE;
const OLD = new RandomBytes(1).next(LENGTH);
const NEW = new RandomBytes(2).next(LENGTH);

const server = await startServer(t, { environment: { WIREFARM_LOG_LEVEL: 'warn' } });
const images = join(server.data, 'images');
const pathOf = (name: string): string => join(images, 'QEMU', name);

void t.test('a download goes on with the image that it began with', async (t) => {
  t.equal((await putImage(server, 'a.img', OLD)).status, 204);
  const reader = await RawConnection.open(server.port);
  reader.send('GET', `${IMAGES}/a.img`);
  const head = await reader.head();
  reader.socket.pause();
  const tag = headerOf(head, 'ETag') ?? '';
  t.equal((await putImage(server, 'a.img', NEW)).status, 204);
  const now = await getImage(server, 'a.img');
  t.equal(sha256(now.body), sha256(NEW));
  t.not(tagOf(now), tag);
  reader.socket.resume();
  t.equal(sha256(await reader.bytes(LENGTH, 30_000)), sha256(OLD), 'the old one, whole');
  reader.close();

  const range = { Range: `bytes=${MEBIBYTE}-` };
  const stale = await getImage(server, 'a.img', { ...range, 'If-Range': tag });
  t.equal(stale.status, 200, 'the rest of the old one is not the rest of the new one');
  t.equal(sha256(stale.body), sha256(NEW));
  const fresh = await getImage(server, 'a.img', { ...range, 'If-Range': tagOf(now) });
  t.equal(fresh.status, 206);
  t.equal(sha256(fresh.body), sha256(NEW.subarray(MEBIBYTE)));
  t.equal((await getImage(server, 'a.img', { 'If-None-Match': tagOf(now) })).status, 304);
});

void t.test('two uploads of one name leave one of them whole', async (t) => {
  for (let round = 0; round < 4; round++) {
    const contents = [3, 4].map((seed) => new RandomBytes(seed + 10 * round).next(3 * MEBIBYTE));
    const replies = await Promise.all(contents.map((content) => putImage(server, 'race.img', content)));
    t.same(
      replies.map(({ status }) => status),
      [204, 204],
    );
    const stored = sha256((await getImage(server, 'race.img')).body);
    t.ok(contents.some((content) => sha256(content) === stored));
  }
  await nothingUnfinished(images);
});

void t.test('two uploads in turns that differ late leave one of them whole', async (t) => {
  await putImage(server, 'turns.img', OLD);
  const others = [0, 1].map((number) => {
    const content = Buffer.from(OLD);
    content[LENGTH - 1 - number * MEBIBYTE] = (content[LENGTH - 1 - number * MEBIBYTE] ?? 0) ^ 1;
    return content;
  });
  const replies = await Promise.all(
    [...others, OLD].map((content) => putImage(server, 'turns.img', content)),
  );
  t.ok(replies.every(({ status }) => status === 204));
  const stored = sha256((await getImage(server, 'turns.img')).body);
  t.ok([...others, OLD].some((content) => sha256(content) === stored));
  await nothingUnfinished(images);
});

void t.test('the same image again writes nothing', async (t) => {
  t.equal((await putImage(server, 'same.img', OLD)).status, 204);
  await eventually('its digest is written beside it', () =>
    statSync(`${pathOf('same.img')}.md5sum`, { throwIfNoEntry: false }) === undefined ? undefined : true,
  );
  const found = statSync(pathOf('same.img'), { bigint: true });
  const { headers } = await getImage(server, 'same.img');
  const before = writtenBy(server);
  t.equal((await putImage(server, 'same.img', OLD)).status, 204);
  const written = writtenBy(server) - before;
  t.ok(written < MEBIBYTE, `${written} octets were written`);
  const after = statSync(pathOf('same.img'), { bigint: true });
  t.same([after.ino, after.mtimeNs, after.ctimeNs], [found.ino, found.mtimeNs, found.ctimeNs]);
  const etag = headers.find(([name]) => name.toLowerCase() === 'etag');
  t.equal(tagOf(await getImage(server, 'same.img')), etag?.[1]);
  await nothingUnfinished(images);
});

void t.test('an upload of the same image that is broken off changes nothing', async (t) => {
  t.equal((await putImage(server, 'cut.img', OLD)).status, 204);
  const connection = await RawConnection.open(server.port);
  connection.write(requestBytes('POST', `${IMAGES}/cut.img`, { headers: { 'Content-Length': `${LENGTH}` } }));
  connection.write(OLD.subarray(0, LENGTH / 2));
  await eventually('it is on its way', () => (unfinishedImages(images).length > 0 ? true : undefined));
  connection.vanish();
  await nothingUnfinished(images);
  t.equal(sha256((await getImage(server, 'cut.img')).body), sha256(OLD));
});
