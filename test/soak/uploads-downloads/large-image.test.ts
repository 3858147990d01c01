/** A large image, sent by curl, through much less memory than it takes: more than 4 GiB in the long tests. */
import { execFile } from 'node:child_process';
import {
  closeSync,
  openSync,
  rmSync,
  statfsSync,
  statSync,
  truncateSync,
  writeFileSync,
  writeSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import t from 'tap';
import { IMAGES, memoryOf, putImage, nothingUnfinished } from '../../support/image-transfers.js';
import { Random, RandomBytes } from '../../support/random.js';
import { headerOf, rawRequest } from '../../support/raw-client.js';
import { scratchFolder } from '../../support/scratch.js';
import { startServer } from '../../support/server-process.js';

const run = promisify(execFile);
const GIBIBYTE = 2 ** 30;
const LENGTH = 20 * (GIBIBYTE / 4) + 12_345;
const NEEDED = 2 * LENGTH + 2 * GIBIBYTE;
const LARGEST_GROWTH = 64 * 1024 * 1024;

async function has(program: string): Promise<boolean> {
  return run(program, ['--version']).then(
    () => true,
    () => false,
  );
}

async function digestOf(path: string): Promise<string> {
  const { stdout } = await run('sha256sum', [path]);
  return stdout.slice(0, 64);
}

/** Islands of random bytes in a sea of nothing. */
function makeImage(path: string): void {
  const random = new Random(5);
  const bytes = new RandomBytes(5);
  writeFileSync(path, '');
  truncateSync(path, LENGTH);
  const fd = openSync(path, 'r+');
  for (let island = 0; island < 40; island++) {
    const piece = bytes.next(1 + random.below(3_000_000));
    writeSync(
      fd,
      piece,
      0,
      piece.length,
      Math.floor((random.below(2 ** 30) / 2 ** 30) * (LENGTH - piece.length)),
    );
  }
  writeSync(fd, bytes.next(100), 0, 100, LENGTH - 100);
  closeSync(fd);
}

void t.test('memory stays what it was', async (t) => {
  const { bavail, bsize } = statfsSync(tmpdir());
  if (bavail * bsize < NEEDED) {
    t.pass(`# SKIP it takes ${Math.ceil(NEEDED / GIBIBYTE)} GiB of the disk`);
    return;
  }
  if (!(await has('curl')) || !(await has('sha256sum'))) {
    t.pass('# SKIP it takes the packages curl and coreutils');
    return;
  }
  const source = join(scratchFolder(t), 'source.img');
  makeImage(source);
  const server = await startServer(t, { environment: { WIREFARM_LOG_LEVEL: 'warn' } });
  // Every thread that takes part is there, and has its own memory.
  const warm = new RandomBytes(6).next(40 * 1024 * 1024);
  for (const name of ['a.img', 'b.img']) t.equal((await putImage(server, name, warm)).status, 204);

  const before = memoryOf(server, 'VmRSS');
  let most = before;
  const watch = setInterval(() => {
    most = Math.max(most, memoryOf(server, 'VmRSS'));
  }, 50);
  const path = `${IMAGES}/large.img`;
  const curl = run('curl', [
    ...[
      '-sS',
      '-o',
      '/dev/null',
      '-w',
      '%{http_code} %{size_upload} %{time_total}',
      '-X',
      'POST',
      '-T',
      source,
    ],
    `${server.url}${path}`,
  ]);
  const [{ stdout }, sent] = await Promise.all([curl, digestOf(source)]);
  clearInterval(watch);
  const [status, size, seconds] = stdout.split(' ');
  t.equal(status, '204');
  t.equal(size, String(LENGTH));
  t.comment(`${seconds ?? ''} s, grew by ${Math.round((most - before) / 1024 / 1024)} MiB`);
  t.ok(most - before < LARGEST_GROWTH, `it grew by ${most - before} octets`);

  const stored = join(server.data, 'images', 'QEMU', 'large.img');
  t.equal(statSync(stored).size, LENGTH);
  t.equal(await digestOf(stored), sent);
  const reply = await rawRequest(server.port, 'HEAD', path);
  t.equal(headerOf(reply, 'Content-Length'), String(LENGTH));
  t.equal(headerOf(reply, 'Repr-Digest'), `sha-256=:${Buffer.from(sent, 'hex').toString('base64')}:`);
  // Its MD5 is found out beside it, and then written to a file of its own.
  await nothingUnfinished(join(server.data, 'images'));
  for (const file of [source, stored]) rmSync(file);
});
