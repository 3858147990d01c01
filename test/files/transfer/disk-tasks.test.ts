/** How files get their names: whatever happens, nothing else is left of them. */
import { execFileSync } from 'node:child_process';
import {
  closeSync,
  existsSync,
  fstatSync,
  linkSync,
  mkdirSync,
  openSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  symlinkSync,
  utimesSync,
  writeFileSync,
  type BigIntStats,
} from 'node:fs';
import { join } from 'node:path';
import t from 'tap';
import { refusals } from '../../../src/base/errors/errors.js';
import { newSlabs, SLAB_LENGTH, slabView } from '../../../src/base/memory/transfer-memory.js';
import { createUnpublished, type UnpublishedFile } from '../../../src/base/disk/published-file.js';
import { contentVersion, NO_VERSION } from '../../../src/base/disk/content-version.js';
import { openRegularFile } from '../../../src/base/disk/regular-file.js';
import { diskTasks } from '../../../src/files/transfer/disk-tasks.js';
import { slabBytes } from '../../../src/files/transfer/slabs.js';
import type { Digests, Landed, Twin } from '../../../src/files/transfer/landing.js';
import type { FilePlace } from '../../../src/files/transfer/transfer-orders.js';
import { RandomBytes } from '../../support/random.js';
import { extentsOf, NO_REFLINKS, reflinkDisk } from '../../support/reflink-disk.js';
import { scratchFolder, type Teardown } from '../../support/scratch.js';
import { NO_MOUNT, smallDisk } from '../../support/small-disk.js';
import { hashOf } from '../../support/upload-rig.js';

const memory = newSlabs();
const tasks = diskTasks(memory);
const CONTENT = new RandomBytes(1).next(300_000);

function versionAt(path: string): string {
  const { fd, version } = openRegularFile(path);
  closeSync(fd);
  return version;
}

class Folder {
  readonly root: string;
  readonly temporary: string;

  constructor(t: Teardown, root = scratchFolder(t)) {
    this.root = root;
    this.temporary = join(root, 'tmp');
    mkdirSync(this.temporary, { recursive: true });
  }

  place(path: string): FilePlace {
    return { root: this.root, folder: undefined, path, makesFolders: false, temporary: this.temporary };
  }

  /** A file on its way, with its content. */
  file(path: string, content: Uint8Array = CONTENT): UnpublishedFile {
    const file = createUnpublished(this.temporary, join(this.root, path));
    writeFileSync(file.fd, content);
    return file;
  }

  land(
    file: UnpublishedFile,
    path: string,
    { mode = 0o644, isSynced = true, twin = undefined as Twin | undefined } = {},
  ): string {
    return tasks.landFile({ place: this.place(path), mode, isSynced, twin, file });
  }

  landPart(part: string, path: string, twin?: Twin): string {
    return tasks.landPart({ place: this.place(path), mode: 0o644, isSynced: true, twin, part });
  }

  content(path: string): Buffer {
    return readFileSync(join(this.root, path));
  }

  get unfinished(): string[] {
    return readdirSync(this.temporary);
  }
}

const isClosed = (fd: number, ino: number): boolean => {
  try {
    return fstatSync(fd).ino !== ino;
  } catch {
    return true;
  }
};

void t.test('a file gets its name, its permissions, and a version', (t) => {
  const folder = new Folder(t);
  for (const [path, mode, isSynced] of [
    ['a.img', 0o644, true],
    ['b.bin', 0o755, false],
  ] as const) {
    const file = folder.file(path);
    const { ino } = fstatSync(file.fd);
    const version = folder.land(file, path, { mode, isSynced });
    t.equal(version, versionAt(join(folder.root, path)));
    const found = statSync(join(folder.root, path));
    t.equal(found.ino, ino, 'it is the very file that was written');
    t.equal(found.mode & 0o777, mode);
    t.ok(folder.content(path).equals(CONTENT));
    t.ok(isClosed(file.fd, ino));
  }
  t.same(folder.unfinished, []);
  t.end();
});

void t.test('an earlier file is replaced, and its readers read it to its end', (t) => {
  const folder = new Folder(t);
  writeFileSync(join(folder.root, 'a'), 'the old one');
  const reader = openSync(join(folder.root, 'a'), 'r');
  folder.land(folder.file('a'), 'a');
  t.ok(folder.content('a').equals(CONTENT));
  t.equal(readFileSync(reader, 'utf8'), 'the old one');
  closeSync(reader);
  t.end();
});

void t.test('a path that leads elsewhere by now is refused, and nothing is left', (t) => {
  const changes: Record<string, (root: string, outside: string) => void> = {
    'a link to outside': (root, outside) => {
      renameSync(join(root, 'sub'), join(root, 'moved'));
      symlinkSync(outside, join(root, 'sub'));
    },
    'a link to another folder within': (root) => {
      renameSync(join(root, 'sub'), join(root, 'moved'));
      symlinkSync('moved', join(root, 'sub'));
    },
    'a folder at its place': (root) => {
      mkdirSync(join(root, 'sub', 'a'));
    },
    'a FIFO at its place': (root) => {
      execFileSync('mkfifo', [join(root, 'sub', 'a')]);
    },
    'no folder at all': (root) => {
      rmSync(join(root, 'sub'), { recursive: true });
    },
  };
  for (const [name, change] of Object.entries(changes)) {
    const folder = new Folder(t);
    const outside = scratchFolder(t);
    mkdirSync(join(folder.root, 'sub'));
    const file = folder.file('sub/a');
    const { ino } = fstatSync(file.fd);
    change(folder.root, outside);
    t.throws(() => folder.land(file, 'sub/a'), name);
    t.same(folder.unfinished, [], name);
    t.same(readdirSync(outside), [], name);
    t.ok(isClosed(file.fd, ino), name);
  }
  t.end();
});

void t.test('a part gets a name, and keeps its own when it cannot', (t) => {
  const folder = new Folder(t);
  const parts = scratchFolder(t);
  const part = join(parts, 'part');
  writeFileSync(part, CONTENT);
  mkdirSync(join(folder.root, 'taken'));
  t.throws(() => folder.landPart(part, 'taken'), refusals.isDirectory('taken'));
  t.throws(() => folder.landPart(part, '../a'), refusals.fileForbidden());
  t.ok(readFileSync(part).equals(CONTENT));
  const { ino } = statSync(part);
  t.equal(folder.landPart(part, 'a'), versionAt(join(folder.root, 'a')));
  t.equal(statSync(join(folder.root, 'a')).ino, ino);
  t.same(readdirSync(parts), []);
  t.same(folder.unfinished, []);
  t.throws(() => folder.landPart(part, 'a'), 'one that has gone');
  t.ok(folder.content('a').equals(CONTENT));
  t.end();
});

void t.test('a part of another file system is copied; when there is no room it stays', (t) => {
  const disk = smallDisk(t, 500);
  if (disk === undefined) {
    t.pass(`# SKIP ${NO_MOUNT}`);
    t.end();
    return;
  }
  const folder = new Folder(t, disk);
  const parts = scratchFolder(t);
  const part = join(parts, 'part');
  writeFileSync(part, CONTENT);
  folder.landPart(part, 'a');
  t.ok(folder.content('a').equals(CONTENT));
  t.same(readdirSync(parts), []);
  writeFileSync(part, CONTENT);
  t.throws(() => folder.landPart(part, 'b'), { status: 507, message: /No space left/ });
  t.ok(readFileSync(part).equals(CONTENT));
  t.same(folder.unfinished, []);
  t.notOk(existsSync(join(disk, 'b')));
  t.end();
});

void t.test('a file system that is mounted twice is another one to a rename', (t) => {
  const scratch = scratchFolder(t);
  const [there, here] = [join(scratch, 'there'), join(scratch, 'here')];
  mkdirSync(there);
  mkdirSync(here);
  try {
    execFileSync('mount', ['--bind', there, here], { stdio: 'ignore' });
  } catch {
    t.pass(`# SKIP ${NO_MOUNT}`);
    t.end();
    return;
  }
  t.teardown(() => execFileSync('umount', ['--lazy', here]));
  const folder = new Folder(t, here);
  const part = join(scratch, 'part');
  writeFileSync(part, CONTENT);
  t.equal(statSync(part).dev, statSync(here).dev);
  t.equal(folder.landPart(part, 'a'), versionAt(join(here, 'a')));
  t.ok(folder.content('a').equals(CONTENT));
  t.notOk(existsSync(part));
  t.same(folder.unfinished, []);
  t.end();
});

void t.test('a file shares the blocks of its twin where that can be', (t) => {
  const disk = reflinkDisk(t);
  if (disk === undefined) {
    t.pass(`# SKIP ${NO_REFLINKS}`);
    t.end();
    return;
  }
  const folder = new Folder(t, disk);
  const large = new RandomBytes(2).next(4 * 1024 * 1024);
  const path = join(disk, 'twin');
  writeFileSync(path, large);
  const twin = { path, version: versionAt(path), sha256: hashOf('sha-256', large) };
  const version = folder.land(folder.file('a', large), 'a', { mode: 0o755, twin });
  const part = join(disk, 'part');
  writeFileSync(part, large);
  folder.landPart(part, 'b', twin);
  folder.land(folder.file('c', large), 'c');
  const extents = extentsOf(path);
  t.ok(extents.length > 0);
  t.same(extentsOf(join(disk, 'a')), extents, 'of an upload');
  t.same(extentsOf(join(disk, 'b')), extents, 'of a part');
  t.strictNotSame(extentsOf(join(disk, 'c')), extents, 'and not without a twin');
  t.equal(version, versionAt(join(disk, 'a')));
  t.equal(statSync(join(disk, 'a')).mode & 0o777, 0o755);
  t.equal(statSync(join(disk, 'a')).nlink, 1, 'never by a hard link');
  for (const name of ['a', 'b', 'c', 'twin']) t.ok(folder.content(name).equals(large), name);
  writeFileSync(join(disk, 'a'), 'changed', { flag: 'r+' });
  t.ok(folder.content('twin').equals(large), 'a change of one is none of the other');
  t.notOk(existsSync(part));
  t.same(folder.unfinished, []);
  t.end();
});

void t.test('a twin that cannot be one is no trouble', (t) => {
  const folders = [new Folder(t)];
  const disk = reflinkDisk(t);
  if (disk !== undefined) folders.push(new Folder(t, disk));
  for (const folder of folders) {
    const path = join(folder.root, 'twin');
    writeFileSync(path, 'x'.repeat(CONTENT.length));
    const twin = { path, version: versionAt(path), sha256: hashOf('sha-256', CONTENT) };
    const check = (name: string): void => {
      folder.land(folder.file('a'), 'a', { twin });
      t.ok(folder.content('a').equals(CONTENT), name);
      t.same(folder.unfinished, [], name);
    };
    check('another content all along');
    utimesSync(path, 1, 1);
    check('changed');
    rmSync(path);
    check('gone');
    symlinkSync('/dev/zero', path);
    check('a link');
    rmSync(path);
    execFileSync('mkfifo', [path]);
    check('a FIFO, which nobody waits for');
  }
  t.end();
});

void t.test('a file that came as one is the whole of an upload', (t) => {
  const folder = new Folder(t);
  const store = (path: string, bytes: Uint8Array, promised: Digests = {}): Landed =>
    tasks.landBytes({ place: folder.place(path), mode: 0o755, isSynced: true, bytes, digests: [], promised });
  const digests = { 'sha-256': hashOf('sha-256', CONTENT) };
  const first = store('a', CONTENT);
  const version = versionAt(join(folder.root, 'a'));
  t.same(first, { size: CONTENT.length, digests, version, isUnchanged: false });
  t.ok(folder.content('a').equals(CONTENT));
  t.equal(statSync(join(folder.root, 'a')).mode & 0o777, 0o755);
  const timesOf = ({ ino, mtimeNs, ctimeNs }: BigIntStats): bigint[] => [ino, mtimeNs, ctimeNs];
  const found = statSync(join(folder.root, 'a'), { bigint: true });
  t.same(store('a', CONTENT), { ...first, isUnchanged: true });
  t.same(timesOf(statSync(join(folder.root, 'a'), { bigint: true })), timesOf(found), 'it was not touched');
  const md5 = hashOf('md5', CONTENT);
  t.equal(store('b', CONTENT, { ...digests, md5 }).digests.md5, md5);
  t.throws(() => store('a', CONTENT, { md5: '0'.repeat(32) }), refusals.uploadDiffers('md5'));
  t.throws(() => store('c', CONTENT, { 'sha-512': '0' }), refusals.uploadDiffers('sha-512'));
  t.equal(store('empty', Buffer.alloc(0)).size, 0);
  mkdirSync(join(folder.root, 'folder'));
  t.throws(() => store('folder', CONTENT), refusals.isDirectory('folder'));
  t.same(readdirSync(folder.root).sort(), ['a', 'b', 'empty', 'folder', 'tmp']);
  t.same(folder.unfinished, []);
  const before = readdirSync('/dev/fd').length;
  for (let count = 0; count < 5; count++) t.throws(() => store('a', CONTENT, { md5: '0' }));
  t.equal(readdirSync('/dev/fd').length, before, 'nothing stays open');
  t.end();
});

void t.test('a file that came as one replaces what is there, with its own permissions', (t) => {
  const folder = new Folder(t);
  const path = join(folder.root, 'a');
  const store = (bytes: Uint8Array, mode: number): Landed =>
    tasks.landBytes({ place: folder.place('a'), mode, isSynced: false, bytes, digests: [], promised: {} });
  writeFileSync(path, 'the old one', { mode: 0o600 });
  const reader = openSync(path, 'r');
  t.notOk(store(CONTENT, 0o644).isUnchanged);
  t.equal(statSync(path).mode & 0o777, 0o644);
  t.equal(readFileSync(reader, 'utf8'), 'the old one', 'whoever reads it reads it to its end');
  closeSync(reader);
  const { ino } = statSync(path);
  t.notOk(store(CONTENT, 0o755).isUnchanged, 'a program is not one yet');
  t.equal(statSync(path).mode & 0o777, 0o755);
  t.not(statSync(path).ino, ino);
  const other = Buffer.from(CONTENT);
  other[CONTENT.length - 1] = (other.at(-1) ?? 0) ^ 1;
  const { version } = store(other, 0o755);
  t.equal(version, versionAt(path));
  t.ok(folder.content('a').equals(other));
  t.same(folder.unfinished, []);
  t.end();
});

void t.test('a file that an upload was compared with stays, if it still is the same', (t) => {
  const folder = new Folder(t);
  const path = join(folder.root, 'a');
  writeFileSync(path, CONTENT);
  utimesSync(path, 1, 1);
  const compared = contentVersion(statSync(path, { bigint: true }));
  const content = { size: CONTENT.length, digests: { 'sha-256': hashOf('sha-256', CONTENT) } };
  const keep = (): string => {
    const file = folder.file('a', Buffer.alloc(0));
    return tasks.keepPresent({
      place: folder.place('a'),
      mode: 0o644,
      isSynced: true,
      file,
      content,
      compared,
    });
  };
  t.equal(keep(), versionAt(path));
  linkSync(path, join(folder.root, 'another name'));
  t.equal(keep(), versionAt(path), 'another name is no other content');
  writeFileSync(path, Buffer.alloc(CONTENT.length), { flag: 'r+' });
  utimesSync(path, 1, 1);
  t.throws(keep, refusals.uploadOvertaken(), 'changed in place, with the time of before');
  const replacement = join(folder.root, 'replacement');
  writeFileSync(replacement, Buffer.alloc(CONTENT.length));
  renameSync(replacement, path);
  t.equal(keep(), NO_VERSION, 'another file has taken its place: this upload counts as the one before');
  rmSync(path);
  t.throws(keep, { code: 'ENOENT' });
  mkdirSync(join(folder.root, 'sub'));
  t.same(folder.unfinished, []);
  t.end();
});

void t.test('a file that is not wanted goes', (t) => {
  const folder = new Folder(t);
  const file = folder.file('a');
  const { ino } = fstatSync(file.fd);
  tasks.discardFile(file);
  t.ok(isClosed(file.fd, ino));
  t.same(readdirSync(folder.root), ['tmp']);
  t.same(folder.unfinished, []);
  t.end();
});

void t.test('only the descriptor of its own is closed for a file whose loop has died', (t) => {
  const folder = new Folder(t);
  const left = folder.file('a');
  const { ino } = fstatSync(left.fd);
  tasks.discardLost(left);
  t.ok(isClosed(left.fd, ino));
  t.same(folder.unfinished, []);
  // The next file gets the number of the one that was closed.
  const other = openSync(join(folder.root, 'other'), 'wx+');
  t.equal(other, left.fd);
  tasks.discardLost(left);
  t.ok(fstatSync(other).isFile());
  const halfway = folder.file('b');
  closeSync(halfway.fd);
  tasks.discardLost(halfway);
  t.same(folder.unfinished, [], 'one that was closed, but not removed');
  closeSync(other);
  t.end();
});

void t.test('only its own descriptor is closed for a part whose loop has died', (t) => {
  const folder = new Folder(t);
  const path = join(folder.root, 'part');
  writeFileSync(path, CONTENT);
  const fd = openSync(path, 'r+');
  const { ino } = fstatSync(fd);
  tasks.closeLost({ fd, path });
  t.ok(isClosed(fd, ino));
  t.ok(folder.content('part').equals(CONTENT));
  const other = openSync(join(folder.root, 'other'), 'wx+');
  t.equal(other, fd);
  tasks.closeLost({ fd, path });
  rmSync(path);
  tasks.closeLost({ fd, path });
  t.ok(fstatSync(other).isFile());
  closeSync(other);
  t.end();
});

void t.test('a slab is read into from its beginning', (t) => {
  const folder = new Folder(t);
  const bytes = new RandomBytes(3).next(SLAB_LENGTH + 100);
  writeFileSync(join(folder.root, 'a'), bytes);
  const fd = openSync(join(folder.root, 'a'), 'r');
  const { byteOffset } = slabView(slabBytes(memory), 7);
  const slab = Buffer.from(memory, byteOffset, SLAB_LENGTH);
  t.equal(tasks.readSlab({ fd, position: 50, slab: 7, length: SLAB_LENGTH }), SLAB_LENGTH);
  t.ok(slab.equals(bytes.subarray(50, 50 + SLAB_LENGTH)));
  t.equal(tasks.readSlab({ fd, position: SLAB_LENGTH, slab: 7, length: SLAB_LENGTH }), 100);
  t.ok(slab.subarray(0, 100).equals(bytes.subarray(SLAB_LENGTH)));
  t.equal(tasks.readSlab({ fd, position: bytes.length, slab: 7, length: 5 }), 0);
  closeSync(fd);
  t.end();
});
