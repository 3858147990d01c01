import { existsSync, mkdirSync, readdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import t from 'tap';
import { refusals } from '../../../src/base/errors/errors.js';
import { PLACING } from '../../../src/lab/projects/folder-layout.js';
import { nodeArchiveTasks } from '../../../src/files/node-files/node-archive-tasks.js';
import { performTask, valueOf } from '../../../src/base/threads/task.js';
import { RandomBytes } from '../../support/random.js';
import { scratchFolder } from '../../support/scratch.js';
import { fillDisk, NO_MOUNT, smallDisk } from '../../support/small-disk.js';
import { tarArchive } from '../../support/tar-archive.js';

const FOLDER = 'project-files/docker/id';
const MEGABYTE = 1024 * 1024;

function place(root: string, archive: Uint8Array): void {
  mkdirSync(join(root, 'tmp'), { recursive: true });
  writeFileSync(join(root, 'tmp', 'archive'), archive);
}

/** The archive stays for the next. */
async function unpack(root: string, path = ''): Promise<void> {
  for (const task of ['unpackNodeFiles', 'placeNodeFiles', 'removeArchive']) {
    const archive = task === 'removeArchive' ? 'none' : 'archive';
    const input = { root, folder: FOLDER, path, archive, work: `work${PLACING}` };
    const outcome = await performTask(nodeArchiveTasks, { task, input });
    if (!('failure' in outcome)) continue;
    await performTask(nodeArchiveTasks, { task: 'removeArchive', input: { ...input, archive: 'none' } });
    valueOf(outcome);
  }
}
const descriptors = (): number => readdirSync('/proc/self/fd').length;

void t.test('an archive is unpacked where it is wanted; what was used for that has gone', async (t) => {
  const root = scratchFolder(t);
  const before = descriptors();
  place(
    root,
    tarArchive([
      ['a', 'first'],
      ['sub/', ''],
      ['sub/b', 'second'],
    ]),
  );
  await unpack(root);
  await unpack(root, 'far/away');
  for (const top of ['', 'far/away']) {
    t.equal(readFileSync(join(root, FOLDER, top, 'a'), 'utf8'), 'first');
    t.equal(readFileSync(join(root, FOLDER, top, 'sub', 'b'), 'utf8'), 'second');
  }
  t.same(readdirSync(join(root, 'tmp')), ['archive']);
  t.equal(descriptors(), before);
});

void t.test('a file in the way keeps all of the files out', async (t) => {
  const root = scratchFolder(t);
  const top = join(root, FOLDER);
  mkdirSync(join(top, 'folder'), { recursive: true });
  writeFileSync(join(top, 'file'), 'kept');
  symlinkSync(root, join(top, 'link'));
  const before = descriptors();
  for (const [path, name] of [
    ['file/', 'file'],
    ['file/x', 'file'],
    ['folder', 'folder'],
    ['link', 'link'],
    ['link/', 'link'],
    ['link/x', 'link'],
  ] as const) {
    place(
      root,
      tarArchive([
        ['good', 'x'],
        ['new/x', 'x'],
        [path, path.endsWith('/') ? '' : 'x'],
      ]),
    );
    await t.rejects(unpack(root), { status: 409, message: new RegExp(`'${name}'`) }, path);
    t.same(readdirSync(top).sort(), ['file', 'folder', 'link'], path);
  }
  place(root, tarArchive([['x', 'x']]));
  await t.rejects(unpack(root, 'link'), { status: 409, message: /member/ });
  await t.rejects(unpack(root, 'file/x'), { status: 409, message: /member/ });
  t.equal(readFileSync(join(top, 'file'), 'utf8'), 'kept');
  t.same(readdirSync(join(root, 'tmp')), ['archive']);
  t.equal(descriptors(), before);
});

void t.test('a folder of the node or of what is on its way that is a link is refused', async (t) => {
  const outside = scratchFolder(t);
  const root = scratchFolder(t);
  place(root, tarArchive([['x', 'x']]));
  mkdirSync(join(root, FOLDER, '..'), { recursive: true });
  symlinkSync(outside, join(root, FOLDER));
  await t.rejects(unpack(root), refusals.fileForbidden());
  const other = scratchFolder(t);
  symlinkSync(outside, join(other, 'tmp'));
  writeFileSync(join(outside, 'archive'), tarArchive([['x', 'x']]));
  await t.rejects(unpack(other), refusals.fileForbidden());
  t.same(readdirSync(outside), ['archive']);
});

void t.test('a name that is too long where it should go changes nothing', async (t) => {
  const root = scratchFolder(t);
  const deep = Array.from({ length: 16 }, (_, index) => `${index}`.padEnd(250, 'x')).join('/');
  place(root, tarArchive([['a', 'x']]));
  await t.rejects(unpack(root, `${deep}/${'y'.repeat(200)}`), { status: 400, message: /name/ });
  t.notOk(existsSync(join(root, FOLDER, '0'.padEnd(250, 'x'))));
});

const probe = smallDisk(t, 64);
void t.test(
  'a full disk leaves what was there',
  { skip: probe === undefined ? NO_MOUNT : false },
  async (t) => {
    const root = smallDisk(t, 8 * 1024) ?? '';
    mkdirSync(join(root, FOLDER), { recursive: true });
    writeFileSync(join(root, FOLDER, 'large'), 'as it was');
    place(
      root,
      tarArchive([
        ['small', 'x'],
        ['large', new RandomBytes(1).next(2 * MEGABYTE)],
      ]),
    );
    const empty = fillDisk(root, MEGABYTE);
    const before = descriptors();
    await t.rejects(unpack(root), { status: 507, message: /No space/ });
    t.same(readdirSync(join(root, 'tmp')), ['archive']);
    t.same(readdirSync(join(root, FOLDER)), ['large']);
    t.equal(readFileSync(join(root, FOLDER, 'large'), 'utf8'), 'as it was');
    t.equal(descriptors(), before);
    empty();
    await unpack(root);
    t.equal(readFileSync(join(root, FOLDER, 'large')).length, 2 * MEGABYTE);
  },
);
