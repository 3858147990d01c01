import { existsSync, mkdirSync, readdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import t from 'tap';
import { performTask, type TaskRequest } from '../../src/pool/task.js';
import { fileTasks } from '../../src/storage/file-tasks.js';
import { scratchFolder } from '../support/scratch.js';

async function statusOf(task: keyof typeof fileTasks & string, input: unknown): Promise<number | undefined> {
  const request: TaskRequest = { task, input };
  const outcome = await performTask(fileTasks, request);
  return 'failure' in outcome ? outcome.failure.status : 200;
}

void t.test('a file is read piece by piece, the last one shorter', (t) => {
  const root = scratchFolder(t);
  writeFileSync(join(root, 'file'), 'abcdefgh');
  const { fd, size } = fileTasks.openFile({ root, path: 'file' });
  t.equal(size, 8);
  const read = (position: number): string =>
    Buffer.from(fileTasks.readPiece({ fd, position, length: 3 })).toString();
  t.same([read(6), read(0), read(3), read(8)], ['gh', 'abc', 'def', '']);
  fileTasks.closeFile({ fd });
  t.throws(() => read(0), { code: 'EBADF' });
  t.end();
});

void t.test('a piece owns the whole of its buffer, so that it can be moved', (t) => {
  const root = scratchFolder(t);
  writeFileSync(join(root, 'file'), 'abc');
  const { fd } = fileTasks.openFile({ root, path: 'file' });
  const piece = fileTasks.readPiece({ fd, position: 1, length: 64 * 1024 });
  t.equal(piece.buffer.byteLength, 2);
  fileTasks.closeFile({ fd });
  t.end();
});

void t.test('a file is written piece by piece and appears when it is published', (t) => {
  const root = scratchFolder(t);
  const file = fileTasks.createFile({ root, path: 'new' });
  fileTasks.writePiece({ fd: file.fd, position: 3, bytes: Buffer.from('def') });
  fileTasks.writePiece({ fd: file.fd, position: 0, bytes: Buffer.from('abc') });
  t.notOk(existsSync(join(root, 'new')));
  fileTasks.publishFile(file);
  t.equal(readFileSync(join(root, 'new'), 'utf8'), 'abcdef');
  t.same(readdirSync(join(root, 'tmp')), []);
  t.end();
});

void t.test(
  'folders on the way to a file are made when that is wanted, by the same rules as files',
  async (t) => {
    const root = scratchFolder(t);
    const outside = scratchFolder(t);
    mkdirSync(join(root, 'inner'));
    symlinkSync('inner', join(root, 'in'));
    symlinkSync(outside, join(root, 'out'));
    writeFileSync(join(root, 'file'), '');
    const status = (path: string, makesFolders = true): Promise<number | undefined> =>
      statusOf('createFile', { root, path, makesFolders });
    t.equal(await status('a/b/c', false), 404);
    for (const path of ['a/b/c', 'a/b/d', 'in/x/y', join(root, 'abs', 'x'), 'in/../n/x']) {
      t.equal(await status(path), 200, path);
    }
    for (const folder of ['a/b', 'inner/x', 'abs', 'n']) t.ok(existsSync(join(root, folder)), folder);
    for (const path of [
      'out/a/b',
      'out/a',
      '../a/b',
      'x/../../a/b',
      'tmp/a',
      'tmp/a/b',
      'a\0/b',
      '.',
      '/a/b',
    ]) {
      t.equal(await status(path), 403, path);
    }
    t.same(readdirSync(outside), []);
    t.equal(await status('file/x/y'), 409);
  },
);

void t.test('a file that is given up leaves the one before it', (t) => {
  const root = scratchFolder(t);
  writeFileSync(join(root, 'file'), 'before');
  const file = fileTasks.createFile({ root, path: 'file' });
  fileTasks.writePiece({ fd: file.fd, position: 0, bytes: Buffer.from('half') });
  fileTasks.discardFile(file);
  t.equal(readFileSync(join(root, 'file'), 'utf8'), 'before');
  t.same(readdirSync(join(root, 'tmp')), []);
  t.end();
});

void t.test('only regular files below the root are read and written', async (t) => {
  const root = scratchFolder(t);
  const outside = scratchFolder(t);
  writeFileSync(join(outside, 'secret'), 'theirs');
  writeFileSync(join(root, 'file'), '');
  mkdirSync(join(root, 'folder'));
  symlinkSync(join(outside, 'secret'), join(root, 'out'));
  symlinkSync(outside, join(root, 'folder-out'));
  for (const task of ['openFile', 'createFile'] as const) {
    t.equal(await statusOf(task, { root, path: '../secret' }), 403);
    t.equal(await statusOf(task, { root, path: 'out' }), 403);
    t.equal(await statusOf(task, { root, path: 'folder-out/secret' }), 403);
    t.equal(await statusOf(task, { root, path: 'folder' }), 409);
    t.equal(await statusOf(task, { root, path: 'file/below' }), 409);
    t.equal(await statusOf(task, { root, path: 'missing/file' }), 404);
  }
  t.equal(await statusOf('openFile', { root, path: 'missing' }), 404);
  t.equal(readFileSync(join(outside, 'secret'), 'utf8'), 'theirs');
});

void t.test('a temporary folder that leads out is not used', async (t) => {
  const root = scratchFolder(t);
  const outside = scratchFolder(t);
  symlinkSync(outside, join(root, 'tmp'));
  t.equal(await statusOf('createFile', { root, path: 'file' }), 403);
  t.same(readdirSync(outside), []);
});
