import { mkdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import t from 'tap';
import { performTask, type TaskRequest } from '../../../src/base/threads/task.js';
import { fileTasks } from '../../../src/base/disk/file-tasks.js';
import { scratchFolder } from '../../support/scratch.js';

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

void t.test('only regular files below the root are read', async (t) => {
  const root = scratchFolder(t);
  const outside = scratchFolder(t);
  writeFileSync(join(outside, 'secret'), 'theirs');
  writeFileSync(join(root, 'file'), '');
  mkdirSync(join(root, 'folder'));
  symlinkSync(join(outside, 'secret'), join(root, 'out'));
  symlinkSync(outside, join(root, 'folder-out'));
  t.equal(await statusOf('openFile', { root, path: '../secret' }), 403);
  t.equal(await statusOf('openFile', { root, path: 'out' }), 403);
  t.equal(await statusOf('openFile', { root, path: 'folder-out/secret' }), 403);
  t.equal(await statusOf('openFile', { root, path: 'folder' }), 409);
  t.equal(await statusOf('openFile', { root, path: 'file/below' }), 409);
  t.equal(await statusOf('openFile', { root, path: 'missing/file' }), 404);
  t.equal(await statusOf('openFile', { root, path: 'missing' }), 404);
  t.equal(readFileSync(join(outside, 'secret'), 'utf8'), 'theirs');
});
