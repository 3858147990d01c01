import { execFileSync } from 'node:child_process';
import {
  chmodSync,
  linkSync,
  lstatSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  symlinkSync,
  utimesSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import t from 'tap';
import { freezeFiles, type FrozenTree } from '../../../src/snapshots/content/frozen-tree.js';
import { settledLater } from '../../support/content-rig.js';
import { writeFiles } from '../../support/file-trees.js';
import { NO_REFLINKS, reflinkDisk } from '../../support/reflink-disk.js';
import { scratchFolder } from '../../support/scratch.js';

const EVERYTHING = { isLeftOut: () => false, known: () => undefined, limit: 1000 };

function frozenFile(tree: FrozenTree, path: string): FrozenTree['files'][number] {
  const found = tree.files.find((file) => file.path === path);
  if (found === undefined) throw new Error(`there is no ${path}`);
  return found;
}

void t.test('files, folders and links in order, nothing else', (t) => {
  const scratch = scratchFolder(t);
  const root = join(scratch, 'root');
  const names = ['b/z', 'b-', 'b.c', 'a', '\uffee', '😀', 'ü', 'b/y/x', 'left/out', 'b/left'];
  writeFiles(root, Object.fromEntries(names.map((name) => [name, name])));
  symlinkSync('/etc', join(root, 'link'));
  symlinkSync('a', join(root, 'b/other'));
  mkdirSync(join(root, 'empty'), { mode: 0o700 });
  execFileSync('mkfifo', [join(root, 'pipe')]);
  chmodSync(join(root, 'a'), 0o4750);
  const asked: [string, boolean][] = [];
  const tree = freezeFiles(root, join(scratch, 'work'), {
    ...EVERYTHING,
    isLeftOut: (path, isFolder) => {
      asked.push([path, isFolder]);
      return path.includes('left');
    },
  });
  t.same(
    tree.files.map(({ path }) => path),
    ['a', 'b-', 'b.c', 'b/y/x', 'b/z', 'ü', '\uffee', '😀'],
  );
  t.same(
    tree.folders.map(({ path }) => path),
    ['b', 'b/y', 'empty'],
  );
  t.same(tree.links, [
    { path: 'b/other', target: 'a' },
    { path: 'link', target: '/etc' },
  ]);
  t.equal(tree.bytes, tree.files.reduce((sum, { path }) => sum + Buffer.byteLength(path), 0) + 0);
  t.equal(frozenFile(tree, 'a').mode, 0o4750);
  t.match(asked, [['a', false]]);
  t.ok(asked.some(([path, isFolder]) => path === 'left' && isFolder));
  t.end();
});

void t.test('a kept file has its content when another takes its name', (t) => {
  const scratch = scratchFolder(t);
  const root = join(scratch, 'root');
  writeFiles(root, { a: 'old', b: '' });
  const tree = freezeFiles(root, join(scratch, 'work'), EVERYTHING);
  writeFiles(root, { new: 'new' });
  renameSync(join(root, 'new'), join(root, 'a'));
  const { source = '', keptAs } = frozenFile(tree, 'a');
  t.match(keptAs, /^(link|clone)$/);
  t.equal(readFileSync(source, 'utf8'), 'old');
  t.match(frozenFile(tree, 'b'), { keptAs: 'known', source: undefined }, 'an empty file is not kept');
  t.end();
});

void t.test('a clone keeps its content when the file is written into', (t) => {
  const disk = reflinkDisk(t);
  if (disk === undefined) {
    t.pass(NO_REFLINKS);
    t.end();
    return;
  }
  writeFiles(join(disk, 'root'), { a: 'old' });
  const tree = freezeFiles(join(disk, 'root'), join(disk, 'work'), EVERYTHING);
  writeFileSync(join(disk, 'root/a'), 'new');
  const { source = '', keptAs } = frozenFile(tree, 'a');
  t.equal(keptAs, 'clone');
  t.equal(readFileSync(source, 'utf8'), 'old');
  t.end();
});

void t.test('a version is known until anything happens to the file', (t) => {
  const scratch = scratchFolder(t);
  const root = join(scratch, 'root');
  const path = join(root, 'a');
  writeFiles(root, { a: 'content' });
  let round = 0;
  const isKnown = (version: string | undefined): boolean => {
    const tree = settledLater(() =>
      freezeFiles(root, join(scratch, String(round++)), { ...EVERYTHING, known: () => version }),
    );
    return frozenFile(tree, 'a').source === undefined;
  };
  const versionNow = (): string => {
    freezeFiles(root, join(scratch, String(round++)), EVERYTHING);
    return frozenFile(freezeFiles(root, join(scratch, String(round++)), EVERYTHING), 'a').version;
  };
  t.equal(isKnown(undefined), false);
  t.equal(isKnown(versionNow()), true);
  const { mtime } = lstatSync(path);
  for (const [what, change] of [
    [
      'written to, and its time put back',
      () => {
        writeFileSync(path, 'CONTENT');
        utimesSync(path, mtime, mtime);
      },
    ],
    [
      'replaced',
      () => {
        writeFileSync(join(root, 'b'), 'CONTENT');
        renameSync(join(root, 'b'), path);
      },
    ],
    [
      'given another name',
      () => {
        linkSync(path, join(scratch, 'another'));
      },
    ],
  ] as const) {
    const version = versionNow();
    change();
    t.equal(isKnown(version), false, what);
  }
  t.end();
});

void t.test('a file that was changed just now is marked', (t) => {
  const scratch = scratchFolder(t);
  writeFiles(join(scratch, 'root'), { a: 'a' });
  const frozen = (work: string): FrozenTree =>
    freezeFiles(join(scratch, 'root'), join(scratch, work), EVERYTHING);
  t.equal(frozenFile(frozen('now'), 'a').isSettled, false);
  t.equal(
    frozenFile(
      settledLater(() => frozen('later')),
      'a',
    ).isSettled,
    true,
  );
  t.end();
});

void t.test('a file that cannot be read is refused by its name', (t) => {
  const scratch = scratchFolder(t);
  const root = join(scratch, 'root');
  writeFiles(root, { a: 'a', b: 'b', c: 'c' });
  t.throws(
    () => freezeFiles(root, join(scratch, 'work'), { ...EVERYTHING, limit: 2 }),
    /too many files in this project: at most 2/,
  );
  t.throws(
    () => freezeFiles(join(scratch, 'none'), join(scratch, 'work'), EVERYTHING),
    /Cannot read \.: ENOENT/,
  );
  writeFileSync(Buffer.concat([Buffer.from(root), Buffer.from([0x2f, 0x78, 0xff])]), '');
  t.throws(
    () => freezeFiles(root, join(scratch, 'other'), EVERYTHING),
    /Cannot read x\ufffd: its name is not UTF-8/,
  );
  t.end();
});

void t.test('a file system without hard links', (t) => {
  const scratch = scratchFolder(t);
  const root = join(scratch, 'root');
  writeFiles(root, { a: 'a' });
  // On the file system of another device, a file has no second name.
  const work = join('/dev/shm', `wirefarm-still-${process.pid}`);
  t.teardown(() => {
    execFileSync('rm', ['-rf', work]);
  });
  const file = frozenFile(freezeFiles(root, work, EVERYTHING), 'a');
  t.same([file.keptAs, file.source], ['none', join(root, 'a')]);
  t.same(readdirSync(work), []);
  t.end();
});
