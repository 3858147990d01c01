/** Files that take their places together: all, or none, wherever that is interrupted. */
import {
  existsSync,
  linkSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { dirname, join } from 'node:path';
import { PLACING } from '../../../src/lab/projects/folder-layout.js';
import t from 'tap';
import { placeFiles, placingTasks, removeWork } from '../../../src/lab/projects/file-placing.js';
import { folderContent } from '../../support/folder-content.js';
import { scratchFolder, type Teardown } from '../../support/scratch.js';

const FOLDER = 'project-files/docker/id';

class Rig {
  readonly root: string;
  readonly target: string;
  readonly work: string;

  constructor(t: Teardown, there: Record<string, string>, coming: Record<string, string>) {
    this.root = scratchFolder(t);
    this.target = join(this.root, FOLDER);
    this.work = join(this.root, 'tmp', `x${PLACING}`);
    mkdirSync(this.target, { recursive: true });
    mkdirSync(join(this.work, 'new'), { recursive: true });
    write(this.target, there);
    write(join(this.work, 'new'), coming);
  }

  place(): void {
    placeFiles({ root: this.root, work: this.work, folder: FOLDER });
  }

  /** As when the process died: the journal is there, and `placed` of the files have their places. */
  interrupt(journal: object): void {
    mkdirSync(join(this.work, 'old'), { recursive: true });
    writeFileSync(join(this.work, 'journal.json'), JSON.stringify(journal));
  }

  undo(): void {
    placingTasks.undoPlacings({ root: this.root });
  }

  get content(): unknown {
    return folderContent(this.target, []);
  }
}

function write(folder: string, files: Record<string, string>): void {
  for (const [path, text] of Object.entries(files)) {
    const full = join(folder, path);
    mkdirSync(path.endsWith('/') ? full : dirname(full), { recursive: true });
    if (!path.endsWith('/')) writeFileSync(full, text);
  }
}

const inode = (path: string): string => String(statSync(path, { bigint: true }).ino);

void t.test('folders are joined, files replaced, and nothing else is touched', (t) => {
  const rig = new Rig(t, { a: 'old', 'sub/kept': 'kept' }, { a: 'new', 'sub/b': 'new', 'void/': '' });
  rig.place();
  t.equal(readFileSync(join(rig.target, 'a'), 'utf8'), 'new');
  t.same(readdirSync(join(rig.target, 'sub')).sort(), ['b', 'kept']);
  t.same(readdirSync(rig.target).sort(), ['a', 'sub', 'void']);
  rig.undo();
  t.equal(readFileSync(join(rig.target, 'a'), 'utf8'), 'new', 'what is done is not undone');
  removeWork(rig.work);
  t.notOk(existsSync(rig.work));
  t.end();
});

void t.test('a file in the way keeps all of the files out', (t) => {
  const rig = new Rig(t, { a: 'old', 'z/': '' }, { a: 'new', 'made/b': 'new', z: 'new' });
  const before = rig.content;
  t.throws(
    () => {
      rig.place();
    },
    { status: 409, message: /'z'/ },
  );
  t.same(rig.content, before);
  removeWork(rig.work);
  t.notOk(existsSync(rig.work));
  t.end();
});

void t.test('files of a process that died are undone, at every place', (t) => {
  const coming = { a: 'new', 'made/b': 'new', c: 'new' };
  for (let placed = 0; placed <= 3; placed++) {
    const rig = new Rig(t, { a: 'old', other: 'other' }, coming);
    const before = rig.content;
    const files = ['a', 'made/b', 'c'];
    rig.interrupt({
      folder: FOLDER,
      folders: ['made'],
      files: files.map((path) => ({ path, inode: inode(join(rig.work, 'new', path)) })),
    });
    linkSync(join(rig.target, 'a'), join(rig.work, 'old', '0'));
    mkdirSync(join(rig.target, 'made'));
    for (const path of files.slice(0, placed)) {
      rmSync(join(rig.target, path), { force: true });
      linkSync(join(rig.work, 'new', path), join(rig.target, path));
      rmSync(join(rig.work, 'new', path));
    }
    removeWork(rig.work);
    t.ok(existsSync(rig.work), 'as long as it is to be undone, it stays');
    rig.undo();
    t.same(rig.content, before, `${placed} placed`);
    rig.undo();
    t.same(rig.content, before, 'twice');
    t.notOk(existsSync(join(rig.work, 'journal.json')));
  }
  t.end();
});

void t.test('a file that somebody else has put there since stays', (t) => {
  const rig = new Rig(t, { a: 'newer', 'made/own': 'own' }, { a: 'new' });
  rig.interrupt({
    folder: FOLDER,
    folders: ['made'],
    files: [{ path: 'a', inode: inode(join(rig.work, 'new', 'a')) }],
  });
  writeFileSync(join(rig.work, 'old', '0'), 'old');
  rig.undo();
  t.equal(readFileSync(join(rig.target, 'a'), 'utf8'), 'newer');
  t.equal(readFileSync(join(rig.target, 'made/own'), 'utf8'), 'own');
  t.end();
});

void t.test('a journal that is none of ours leads nowhere', (t) => {
  const outside = scratchFolder(t);
  writeFileSync(join(outside, 'a'), 'theirs');
  const files = [{ path: 'a', inode: inode(join(outside, 'a')) }];
  const up = '../'.repeat(20) + outside.slice(1);
  const hostile = [
    { folder: up, folders: [], files },
    { folder: outside, folders: [], files },
    { folder: FOLDER, folders: [], files: [{ path: `${up}/a`, inode: inode(join(outside, 'a')) }] },
    { folder: `${FOLDER}/link`, folders: [], files },
    { folder: FOLDER, folders: [], files: [{ path: 'link/a', inode: inode(join(outside, 'a')) }] },
    { folder: FOLDER, folders: 'all', files },
    { folder: `${FOLDER}/there/deeper`, folders: ['x'], files },
  ];
  for (const journal of hostile) {
    const rig = new Rig(t, { there: 'x' }, {});
    symlinkSync(outside, join(rig.target, 'link'));
    rig.interrupt(journal);
    rig.undo();
    t.same(readdirSync(outside), ['a'], JSON.stringify(journal));
    rmSync(join(rig.root, 'tmp'), { recursive: true });
    symlinkSync(outside, join(rig.root, 'tmp'));
    rig.undo();
  }
  const rig = new Rig(t, {}, {});
  mkdirSync(join(rig.work, 'journal.json'));
  writeFileSync(join(rig.root, 'tmp', `file${PLACING}`), '');
  mkdirSync(join(rig.root, 'tmp', `text${PLACING}`));
  writeFileSync(join(rig.root, 'tmp', `text${PLACING}`, 'journal.json'), '{"folder":');
  rig.undo();
  t.equal(readFileSync(join(outside, 'a'), 'utf8'), 'theirs');
  t.end();
});
