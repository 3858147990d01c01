/** Exports with a member of more than 4 GiB: most of it is a hole, and its lengths need 64 bits. */
import { execFileSync } from 'node:child_process';
import { closeSync, openSync, readSync, rmSync, statSync, truncateSync, writeSync } from 'node:fs';
import { randomUUID } from 'node:crypto';
import { join } from 'node:path';
import t from 'tap';
import { Client } from '../../support/client.js';
import { importPath } from '../../support/project-archive-lab.js';
import { RandomBytes } from '../../support/random.js';
import { scratchFolder } from '../../support/scratch.js';
import { startServer } from '../../support/server-process.js';
import { pythonSays, testWithUnzip } from '../../support/zip-making.js';

const MEBI = 1024 * 1024;
const SIZE = 4 * 1024 * MEBI + 77;
const FILE = 'project-files/large.img';
const TAIL = 300_000;

const LIST = `
import sys, zipfile
for info in zipfile.ZipFile(sys.argv[1]).infolist(): print(info.filename, info.file_size, info.compress_type)`;

void t.test('a member of more than 4 GiB goes out, goes on after a break, and comes in', async (t) => {
  const server = await startServer(t, { environment: { WIREFARM_LOG_LEVEL: 'warn' } });
  const client = new Client(server.url);
  const made = await client.expect(201, 'POST', '/v2/projects', { name: 'large', auto_close: false });
  const folder = String(made['path']);
  const path = join(folder, FILE);
  const [first, last] = [new RandomBytes(1).next(MEBI), new RandomBytes(2).next(MEBI)];
  execFileSync('mkdir', ['-p', join(folder, 'project-files')]);
  const fd = openSync(path, 'wx');
  writeSync(fd, first);
  truncateSync(path, SIZE);
  writeSync(fd, last, 0, MEBI, SIZE - MEBI);
  closeSync(fd);

  const zip = join(scratchFolder(t), 'large.zip');
  const url = `${server.url}/v2/projects/${String(made['project_id'])}/export?compression=none`;
  execFileSync('curl', ['-sf', '-o', zip, url]);
  const { size } = statSync(zip);
  testWithUnzip(zip);
  t.match(pythonSays(LIST, zip), `${FILE} ${SIZE} 0`);

  const tail = readTail(zip, size);
  truncateSync(zip, size - TAIL);
  execFileSync('curl', ['-sf', '-C', '-', '-o', zip, url]);
  t.equal(statSync(zip).size, size);
  t.ok(readTail(zip, size).equals(tail), 'the rest of a download has the same bytes');

  const id = randomUUID();
  execFileSync('curl', ['-sf', '-X', 'POST', '-T', zip, `${server.url}${importPath(id)}`]);
  rmSync(zip);
  const copy = join(server.data, 'projects', id, FILE);
  execFileSync('cmp', [path, copy]);
  t.ok(statSync(copy).blocks * 512 < 64 * MEBI, 'the hole is a hole again');
  t.equal(server.log(), '');
});

function readTail(path: string, size: number): Buffer {
  const fd = openSync(path, 'r');
  const bytes = Buffer.alloc(TAIL);
  readSync(fd, bytes, 0, TAIL, size - TAIL);
  closeSync(fd);
  return bytes;
}
