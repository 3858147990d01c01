import { spawnSync } from 'node:child_process';
import { closeSync, mkdirSync, readdirSync, symlinkSync, utimesSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:net';
import { once } from 'node:events';
import { join } from 'node:path';
import t from 'tap';
import { performTask } from '../../../src/base/threads/task.js';
import { openRegularFile, readRegularFile } from '../../../src/base/disk/regular-file.js';
import { scratchFolder } from '../../support/scratch.js';

/** The status that a client gets when the path is opened. */
async function statusOf(path: string): Promise<number | undefined> {
  const table = {
    open() {
      closeSync(openRegularFile(path).fd);
    },
  };
  const outcome = await performTask(table, { task: 'open', input: undefined });
  return 'failure' in outcome ? outcome.failure.status : 200;
}

const descriptors = (): number => readdirSync('/proc/self/fd').length;

void t.test('a regular file is opened with its size and time', (t) => {
  const path = join(scratchFolder(t), 'file');
  writeFileSync(path, 'twelve bytes');
  const { fd, size, modifiedMs } = openRegularFile(path);
  closeSync(fd);
  t.equal(size, 12);
  t.ok(modifiedMs > 1e12);
  t.end();
});

void t.test('every change of a file makes another version of it', (t) => {
  const path = join(scratchFolder(t), 'file');
  const versionNow = (): string => {
    const { fd, version } = openRegularFile(path);
    closeSync(fd);
    return version;
  };
  writeFileSync(path, 'one');
  const first = versionNow();
  t.equal(versionNow(), first);
  utimesSync(path, 1, 1.000001);
  const second = versionNow();
  utimesSync(path, 1, 1.000002);
  t.equal(new Set([first, second, versionNow()]).size, 3);
  t.end();
});

void t.test('a path that is no regular file is refused, and nothing waits or stays open', async (t) => {
  const folder = scratchFolder(t);
  const at = (name: string): string => join(folder, name);
  mkdirSync(at('folder'));
  writeFileSync(at('file'), '');
  symlinkSync('file', at('link'));
  symlinkSync('loop', at('loop'));
  t.equal(spawnSync('mkfifo', [at('fifo')]).status, 0);
  const server = createServer().listen(at('socket'));
  await once(server, 'listening');
  t.teardown(() => server.close());
  const open = descriptors();
  t.equal(await statusOf(at('folder')), 409);
  t.equal(await statusOf(at('link')), 403);
  t.equal(await statusOf(at('loop')), 403);
  t.equal(await statusOf(at('fifo')), 403);
  t.equal(await statusOf(at('socket')), 403);
  t.equal(await statusOf('/dev/null'), 403);
  t.equal(await statusOf(at('missing')), 404);
  t.equal(await statusOf(at('file/below')), 409);
  t.equal(descriptors(), open);
});

void t.test('a whole file is read up to the limit and no further', (t) => {
  const path = join(scratchFolder(t), 'file');
  writeFileSync(path, 'x'.repeat(100));
  const open = descriptors();
  t.equal(readRegularFile(path, 100).length, 100);
  t.throws(() => readRegularFile(path, 99), { message: /larger than 99 bytes/ });
  t.equal(descriptors(), open);
  t.end();
});
