/** Where uploads lie while they are on their way, and where they go: nothing that was planted leads elsewhere. */
import { execFileSync } from 'node:child_process';
import {
  chmodSync,
  closeSync,
  existsSync,
  fstatSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  symlinkSync,
  truncateSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import t from 'tap';
import { refusals } from '../../../src/base/errors/errors.js';
import { discardFile } from '../../../src/base/disk/published-file.js';
import { createForLanding, landingTarget, temporaryFolder } from '../../../src/files/transfer/file-place.js';
import type { FilePlace } from '../../../src/files/transfer/transfer-orders.js';
import { scratchFolder, type Teardown } from '../../support/scratch.js';

const MODE = 0o644;

interface Folders {
  readonly root: string;
  readonly outside: string;
  readonly place: (path: string, more?: Partial<FilePlace>) => FilePlace;
}

function folders(t: Teardown): Folders {
  const scratch = scratchFolder(t);
  const root = join(scratch, 'root');
  const outside = join(scratch, 'outside');
  mkdirSync(root);
  mkdirSync(outside);
  return {
    root,
    outside,
    place: (path, more = {}) => ({
      root,
      folder: undefined,
      path,
      makesFolders: false,
      temporary: join(root, 'tmp'),
      ...more,
    }),
  };
}

void t.test('a new file lies in the temporary folder, and knows where it goes', (t) => {
  const { root, place } = folders(t);
  const { file, present } = createForLanding(place('a.img'), 10, MODE);
  t.equal(file.target, join(root, 'a.img'));
  t.match(file.temporary, join(root, 'tmp'));
  t.equal(fstatSync(file.fd).size, 0);
  t.equal(present, undefined);
  t.notOk(existsSync(file.target));
  discardFile(file);
  t.same(readdirSync(join(root, 'tmp')), []);
  t.end();
});

void t.test('folders are made when they are to be', (t) => {
  const { root, place } = folders(t);
  t.throws(() => createForLanding(place('a/b/c'), 1, MODE), { code: 'ENOENT' });
  t.notOk(existsSync(join(root, 'a')));
  discardFile(createForLanding(place('a/b/c', { makesFolders: true }), 1, MODE).file);
  t.same(readdirSync(join(root, 'a', 'b')), []);
  const made = place('x', { makesFolders: true, folder: 'QEMU/own' });
  discardFile(createForLanding(made, 1, MODE).file);
  t.ok(existsSync(join(root, 'QEMU', 'own')));
  t.end();
});

void t.test('nothing leads out of the folder', (t) => {
  const { root, outside, place } = folders(t);
  symlinkSync(outside, join(root, 'link'));
  symlinkSync(join(outside, 'x'), join(root, 'x'));
  writeFileSync(join(outside, 'x'), 'precious');
  for (const path of [
    '../a',
    '/etc/a',
    'link/a',
    'x',
    'link',
    '',
    '.',
    'a\0b',
    'a/../../b',
    join(outside, 'x'),
  ]) {
    t.throws(() => createForLanding(place(path, { makesFolders: true }), 8, MODE), JSON.stringify(path));
  }
  t.throws(() => createForLanding(place('a', { folder: 'link' }), 1, MODE), refusals.fileForbidden());
  t.same(readdirSync(outside), ['x']);
  t.equal(readFileSync(join(outside, 'x'), 'utf8'), 'precious');
  t.same(readdirSync(root).sort(), ['link', 'tmp', 'x']);
  t.same(readdirSync(join(root, 'tmp')), [], 'nothing is left');
  t.end();
});

void t.test('nothing lands in the temporary folder, or in its place', (t) => {
  const { root, place } = folders(t);
  mkdirSync(join(root, 'tmp'));
  symlinkSync('tmp', join(root, 'alias'));
  for (const path of ['tmp', 'tmp/a', 'tmp/b/c', './tmp//a', 'alias', 'alias/a']) {
    t.throws(
      () => createForLanding(place(path, { makesFolders: true }), 1, MODE),
      refusals.fileForbidden(),
      path,
    );
  }
  t.end();
});

void t.test('a temporary folder that is a link is refused, wherever it leads', (t) => {
  const { root, outside } = folders(t);
  const links = { link: outside, inside: root, dangling: join(outside, 'missing'), loop: join(root, 'loop') };
  for (const [name, target] of Object.entries(links)) {
    symlinkSync(target, join(root, name));
    t.throws(() => temporaryFolder({ root, temporary: join(root, name) }), name);
  }
  t.same(readdirSync(outside), []);
  writeFileSync(join(root, 'file'), '');
  t.throws(() => temporaryFolder({ root, temporary: join(root, 'file') }));
  t.equal(temporaryFolder({ root, temporary: join(root, 'new', 'tmp') }), join(root, 'new', 'tmp'));
  const gone = join(root, 'gone');
  t.throws(() => temporaryFolder({ root: gone, temporary: join(gone, 'tmp') }), { code: 'ENOENT' });
  t.notOk(existsSync(gone), 'a root that was deleted is not made again');
  t.end();
});

void t.test('only a file can be replaced', (t) => {
  const { root, place } = folders(t);
  const target = (path: string): string =>
    landingTarget(place(path), temporaryFolder({ root, temporary: join(root, 'tmp') }));
  mkdirSync(join(root, 'folder'));
  writeFileSync(join(root, 'file'), '');
  t.throws(() => target('folder'), refusals.isDirectory('folder'));
  t.throws(() => target('file/below'));
  t.equal(target('file'), join(root, 'file'));
  symlinkSync('file', join(root, 'alias'));
  t.equal(target('alias'), join(root, 'file'), 'a link within the folder is followed');
  symlinkSync('missing', join(root, 'dangling'));
  t.throws(() => target('dangling'), { code: 'ENOENT' });
  execFileSync('mkfifo', [join(root, 'fifo')]);
  t.throws(() => target('fifo'), refusals.fileForbidden());
  t.throws(() => createForLanding(place('fifo'), 0, MODE), refusals.fileForbidden());
  t.same(readdirSync(join(root, 'tmp')), []);
  t.end();
});

void t.test('an earlier file may be the same when it is as long and may be used alike', (t) => {
  const { root, place } = folders(t);
  const path = join(root, 'a');
  writeFileSync(path, '12345');
  chmodSync(path, MODE);
  const isPresent = (size: number | undefined, mode = MODE): boolean => {
    const { file, present } = createForLanding(place('a'), size, mode);
    discardFile(file);
    if (present !== undefined) closeSync(present.fd);
    return present !== undefined;
  };
  t.ok(isPresent(5));
  for (const size of [undefined, 0, 4, 6]) t.notOk(isPresent(size), String(size));
  t.notOk(isPresent(5, 0o755), 'a program is not one yet');
  truncateSync(path, 0);
  t.notOk(isPresent(0));
  t.end();
});

void t.test('a file that cannot fit is refused at once', (t) => {
  const { root, place } = folders(t);
  t.throws(() => createForLanding(place('a'), 2 ** 50, MODE), { status: 507, message: /No space left/ });
  t.same(readdirSync(join(root, 'tmp')), []);
  t.same(readdirSync(root), ['tmp']);
  t.end();
});
