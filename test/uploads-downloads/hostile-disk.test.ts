/** Disks that are full, and files that nobody would ever come to the end of. */
import { execFileSync } from 'node:child_process';
import { mkdirSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import t from 'tap';
import { Client } from '../support/client.js';
import { getImage, IMAGES, putImage, sha256, nothingUnfinished } from '../support/image-transfers.js';
import { RandomBytes } from '../support/random.js';
import { chunked, jsonOf, RawConnection, requestBytes } from '../support/raw-client.js';
import { startServer } from '../support/server-process.js';
import { NO_MOUNT, smallDisk } from '../support/small-disk.js';

const environment = { WIREFARM_LOG_LEVEL: 'error' };
const MEBIBYTE = 1024 * 1024;

void t.test('a disk that fills up in the middle of an upload', async (t) => {
  const disk = smallDisk(t, 6 * 1024);
  if (disk === undefined) {
    t.pass(`# SKIP ${NO_MOUNT}`);
    return;
  }
  const server = await startServer(t, { environment, flags: ['--images', disk] });
  const small = new RandomBytes(1).next(2 * MEBIBYTE);
  t.equal((await putImage(server, 'small.img', small)).status, 204);

  const connection = await RawConnection.open(server.port);
  connection.write(
    requestBytes('POST', `${IMAGES}/large.img`, { headers: { 'Transfer-Encoding': 'chunked' } }),
  );
  connection.write(chunked(new RandomBytes(2).next(12 * MEBIBYTE)));
  const reply = await connection.reply('POST');
  t.equal(reply.status, 507);
  t.match(jsonOf(reply), { status: 507 });
  connection.close();
  await nothingUnfinished(disk);
  t.same(
    readdirSync(join(disk, 'QEMU')).filter((name) => name.startsWith('large')),
    [],
  );

  const declared = await RawConnection.open(server.port);
  // Nothing of this upload is sent.
  declared.write(
    requestBytes('POST', `${IMAGES}/large.img`, { headers: { 'Content-Length': `${2 ** 40}` } }),
  );
  t.equal((await declared.reply('POST')).status, 507, 'what cannot fit is refused at once');
  declared.close();
  await nothingUnfinished(disk);

  t.equal(sha256((await getImage(server, 'small.img')).body), sha256(small));
  t.equal((await putImage(server, 'next.img', small)).status, 204, 'there is room again');
  t.equal(server.log(), '');
});

void t.test('a FIFO blocks nothing', async (t) => {
  const server = await startServer(t, { environment });
  const client = new Client(server.url);
  const project = await client.expect(201, 'POST', '/v2/projects', { name: 'fifo', auto_close: false });
  const path = `/v2/projects/${String(project['project_id'])}`;
  const folders = [String(project['path']), join(server.data, 'images', 'QEMU')];
  for (const folder of folders) {
    mkdirSync(folder, { recursive: true });
    for (const name of ['fifo', 'fifo.img']) execFileSync('mkfifo', [join(folder, name)]);
  }
  const requests = [`${path}/files/fifo`, `${IMAGES}/fifo`, `${IMAGES}/fifo.img`].flatMap((file) =>
    // More than there are threads.
    Array.from({ length: 8 }, (_, number) =>
      client.request(number % 2 === 0 ? 'GET' : 'POST', file, number % 2 === 0 ? undefined : 'x'),
    ),
  );
  const commits = Array.from({ length: 20 }, (_, number) =>
    client.expect(201, 'POST', `${path}/drawings`, {
      svg: '<svg width="1" height="1"/>',
      x: number,
      y: 0,
      z: 0,
    }),
  );
  await Promise.all(commits);
  for (const { status } of await Promise.all(requests)) t.ok(status >= 400 && status < 500, String(status));
  t.equal((await client.get(IMAGES)).status, 200, 'images are listed');
  t.equal((await putImage(server, 'a.img', Buffer.from('x'))).status, 204);
  t.equal((await getImage(server, 'a.img')).text, 'x');
  await client.expect(201, 'POST', `${path}/files/a`, 'x');
  t.equal((await client.get(`${path}/files/a`)).text, 'x');
  t.equal(server.log(), '');
});
