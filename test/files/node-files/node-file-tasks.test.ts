import { existsSync, mkdirSync, readdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import t from 'tap';
import { refusals } from '../../../src/base/errors/errors.js';
import { nodeFileTasks as tasks } from '../../../src/files/node-files/node-file-tasks.js';
import { scratchFolder, type Teardown } from '../../support/scratch.js';

const FOLDER = 'project-files/qemu/id';

function node(t: Teardown): { root: string; top: string } {
  const root = scratchFolder(t);
  const top = join(root, FOLDER);
  mkdirSync(join(top, 'sub', 'deep'), { recursive: true });
  writeFileSync(join(top, 'a'), 'four');
  writeFileSync(join(top, 'run'), '', { mode: 0o755 });
  writeFileSync(join(top, 'sub', 'deep', 'b'), '');
  symlinkSync('sub', join(top, 'link'));
  return { root, top };
}

const list = (root: string, path = '', isRecursive = false, limit = 100): string[] =>
  tasks
    .listNodeFiles({ root, folder: FOLDER, path, isRecursive, limit })
    .map(
      (entry) =>
        `${entry.path} ${entry.type} ${entry.size}${entry.isExecutable && entry.type === 'file' ? ' x' : ''}`,
    );
const remove = (root: string, path: string, isRecursive = false): void => {
  tasks.removeNodeFile({ root, folder: FOLDER, path, isRecursive });
};

void t.test('entries come by their paths, links as what they are', (t) => {
  const { root } = node(t);
  const top = ['a file 4', 'link other 0', 'run file 0 x', 'sub folder 0'];
  t.same(list(root), top);
  t.same(list(root, '', true), [...top, 'sub/deep folder 0', 'sub/deep/b file 0']);
  t.same(list(root, 'sub'), ['sub/deep folder 0']);
  t.same(list(root, 'sub', true), ['sub/deep folder 0', 'sub/deep/b file 0']);
  t.end();
});

void t.test('a folder that is missing is empty when it is the own of a node, and else refused', (t) => {
  const root = scratchFolder(t);
  t.same(list(root), []);
  t.throws(() => list(root, 'sub'), refusals.fileMissing());
  t.throws(() => list(node(t).root, 'no'), refusals.fileMissing());
  t.throws(() => list(node(t).root, 'a'), refusals.notDirectory('a'));
  t.throws(() => list(node(t).root, 'link'), refusals.fileForbidden());
  t.end();
});

void t.test('more than wanted are refused', (t) => {
  const { root } = node(t);
  t.equal(list(root, '', true, 6).length, 6);
  t.throws(() => list(root, '', true, 5), refusals.tooMany('files in this folder', 5));
  t.end();
});

void t.test('a removed file is gone, and nothing else', (t) => {
  const { root, top } = node(t);
  remove(root, 'a');
  remove(root, 'link', true);
  t.ok(existsSync(join(top, 'sub', 'deep', 'b')), 'a link is removed, not what it leads to');
  t.throws(() => {
    remove(root, 'sub');
  }, refusals.folderNotEmpty('sub'));
  t.throws(() => {
    remove(root, 'sub/deep/b/c');
  }, refusals.notDirectory('b'));
  t.throws(
    () => {
      remove(root, 'a');
    },
    { code: 'ENOENT' },
  );
  remove(root, 'sub/deep', true);
  t.same(readdirSync(join(top, 'sub')), []);
  remove(root, 'sub');
  t.same(readdirSync(top), ['run']);
  t.same(readdirSync(join(root, 'tmp')), []);
  t.end();
});

void t.test('no link leads a removal elsewhere', (t) => {
  const { root, top } = node(t);
  const outside = scratchFolder(t);
  writeFileSync(join(outside, 'kept'), 'kept');
  symlinkSync(outside, join(top, 'planted'));
  symlinkSync(outside, join(root, 'tmp'));
  const forbidden = refusals.fileForbidden();
  t.throws(() => {
    remove(root, 'planted/kept');
  }, forbidden);
  t.throws(() => {
    remove(root, 'sub', true);
  }, forbidden);
  t.same(readdirSync(outside), ['kept']);
  t.equal(readFileSync(join(outside, 'kept'), 'utf8'), 'kept');
  t.ok(existsSync(join(top, 'sub', 'deep', 'b')));
  t.end();
});
