import { randomUUID } from 'node:crypto';
import {
  closeSync,
  existsSync,
  linkSync,
  lstatSync,
  mkdirSync,
  openSync,
  readFileSync,
  renameSync,
  rmSync,
  truncateSync,
  writeFileSync,
  writeSync,
} from 'node:fs';
import { join } from 'node:path';
import t, { type Test } from 'tap';
import { JobProgress } from '../../../src/snapshots/content/job-progress.js';
import { removeManifest } from '../../../src/snapshots/content/manifest.js';
import { Refusal } from '../../../src/base/errors/errors.js';
import { failureOf } from '../../../src/base/threads/task.js';
import { ContentRig } from '../../support/content-rig.js';
import { FileTree, writeFiles } from '../../support/file-trees.js';
import { Random, RandomBytes, testSeed } from '../../support/random.js';
import { extentsOf, NO_REFLINKS, reflinkDisk } from '../../support/reflink-disk.js';
import { scratchFolder } from '../../support/scratch.js';
import { fillDisk, NO_MOUNT, smallDisk } from '../../support/small-disk.js';

const CHUNK = 64 * 1024;
const MIB = 1024 * 1024;

function roundTrips(t: Test, scratch: string, seed: number, rounds: number): void {
  const rig = new ContentRig(scratch);
  const random = new Random(seed);
  const tree = new FileTree(rig.project, seed);
  const recorded = new Map<string, ReadonlyMap<string, string>>();
  let newest: string | undefined;
  tree.change(40);
  for (let round = 0; round < rounds; round++) {
    const { id } = rig.take(newest);
    recorded.set(id, rig.record());
    newest = id;
    tree.change(random.below(25));
    if (random.chance(0.4)) {
      const gone = random.pick([...recorded.keys()]);
      t.equal(removeManifest(rig.folder, gone), true);
      recorded.delete(gone);
      rig.store.collect();
      if (gone === newest) newest = [...recorded.keys()].at(-1);
    }
    for (const [each, files] of recorded) t.strictSame(rig.built(each), files, `round ${round}`);
  }
  for (const id of recorded.keys()) {
    t.same(rig.damage(id), []);
    removeManifest(rig.folder, id);
  }
  rig.store.collect();
  t.same(rig.objects(), [], 'nothing is left of what nobody has');
}

void t.test('each snapshot gives back the files as they were', (t) => {
  const seed = testSeed(4711);
  for (let run = 0; run < 6; run++) roundTrips(t, scratchFolder(t), seed + run, 6);
  t.end();
});

void t.test('the same where blocks are shared', (t) => {
  const disk = reflinkDisk(t);
  if (disk === undefined) {
    t.pass(NO_REFLINKS);
    t.end();
    return;
  }
  roundTrips(t, disk, testSeed(815), 5);
  t.end();
});

void t.test('nothing is stored twice', (t) => {
  const rig = new ContentRig(scratchFolder(t));
  const bytes = new RandomBytes(1);
  const disk = bytes.next(8 * MIB);
  writeFiles(rig.project, { 'a/disk': disk, 'a/copy': disk, small: bytes.next(1000) });
  const first = rig.take();
  t.equal(first.added, 8 * MIB + 1000, 'one copy of two');
  const same = rig.take(first.id);
  t.same([same.added, same.read], [0, []], 'what has not changed is not even read');
  const unknown = rig.take();
  t.same([unknown.added, unknown.read.length], [0, 3], 'and read, it is not stored');

  const fd = openSync(join(rig.project, 'a/disk'), 'r+');
  for (let chunk = 0; chunk < 3; chunk++) writeSync(fd, bytes.next(10), 0, 10, chunk * 40 * CHUNK + 5);
  closeSync(fd);
  const changed = rig.take(unknown.id);
  t.same([changed.added, changed.read], [3 * CHUNK, ['a/disk']], 'of a change only the chunks');
  t.equal(rig.store.uniqueBytes(changed.id), 3 * CHUNK);
  t.equal(rig.store.uniqueBytes(first.id), 0);

  renameSync(join(rig.project, 'a/disk'), join(rig.project, 'moved'));
  renameSync(join(rig.project, 'a/copy'), join(rig.project, 'a/other'));
  t.equal(rig.take(changed.id).added, 0, 'of another name nothing');
  t.end();
});

void t.test('a removal frees the room of that snapshot only', (t) => {
  const rig = new ContentRig(scratchFolder(t));
  const bytes = new RandomBytes(2);
  writeFiles(rig.project, { kept: bytes.next(MIB), gone: bytes.next(MIB), 'kept too': bytes.next(3000) });
  const first = rig.take();
  const pack = join(rig.folder, 'content', `${first.id}.pack`);
  rmSync(join(rig.project, 'gone'));
  const second = rig.take(first.id);
  const expected = rig.record();
  t.equal(rig.store.uniqueBytes(first.id), MIB);

  linkSync(pack, join(rig.scratch, 'of another project'));
  removeManifest(rig.folder, first.id);
  const before = lstatSync(pack).blocks;
  rig.store.collect();
  t.equal(lstatSync(pack).blocks, before, 'a pack that others have is left alone');
  rmSync(join(rig.scratch, 'of another project'));
  rig.store.collect();
  t.equal(lstatSync(pack).blocks, before - MIB / 512, 'the chunks that only the first had are gone');
  t.strictSame(rig.built(second.id), expected);

  // Later snapshots do not rely on chunks that are gone.
  writeFiles(rig.project, { again: new RandomBytes(2).next(2 * MIB).subarray(MIB) });
  const third = rig.take(second.id);
  t.equal(third.added, MIB);
  t.strictSame(rig.built(third.id), rig.record());
  t.end();
});

void t.test('while a manifest cannot be read nothing is removed', (t) => {
  const rig = new ContentRig(scratchFolder(t));
  writeFiles(rig.project, { file: new RandomBytes(3).next(MIB) });
  const { id } = rig.take();
  const manifest = join(rig.folder, `${id}.manifest`);
  const text = readFileSync(manifest);
  writeFileSync(manifest, text.subarray(0, 100));
  rig.store.collect();
  writeFileSync(manifest, text);
  t.strictSame(rig.built(id), rig.record());
  t.end();
});

void t.test('a part of a snapshot', (t) => {
  const rig = new ContentRig(scratchFolder(t));
  writeFiles(rig.project, { 'a/b/c': 'c', 'a/d': 'd', 'e/f': 'f', g: 'g' });
  const { id } = rig.take();
  const built = rig.built(id, (path) => path.startsWith('a/b/'));
  t.same([...built.keys()], ['a', 'a/b', 'a/b/c']);
  t.end();
});

void t.test('holes are neither read nor stored, and are holes again', (t) => {
  const rig = new ContentRig(scratchFolder(t));
  const path = join(rig.project, 'disk');
  writeFileSync(path, 'begins');
  truncateSync(path, 20 * 1024 * MIB);
  const fd = openSync(path, 'r+');
  writeSync(fd, 'in the middle', 7 * 1024 * MIB + 123);
  closeSync(fd);
  const { id, added } = rig.take();
  t.equal(added, 2 * CHUNK);
  const target = join(rig.scratch, 'built');
  rig.store.build(rig.manifest(id).tree, target, new JobProgress());
  const built = lstatSync(join(target, 'disk'));
  t.equal(built.size, 20 * 1024 * MIB);
  t.ok(built.blocks * 512 <= 4 * CHUNK, `${built.blocks} blocks`);
  t.end();
});

void t.test('files that share blocks are stored without being read', (t) => {
  const disk = reflinkDisk(t);
  if (disk === undefined) {
    t.pass(NO_REFLINKS);
    t.end();
    return;
  }
  const rig = new ContentRig(disk);
  const path = join(rig.project, 'disk');
  writeFiles(rig.project, { disk: new RandomBytes(4).next(4 * MIB), small: 'small' });
  truncateSync(path, 2 * 1024 * MIB);
  const first = rig.take();
  t.same(rig.objects(), [`${first.id}.0`, `${first.id}.index`, `${first.id}.pack`]);
  t.equal(first.added, 5, 'only the small file');
  const cancelled = new JobProgress();
  cancelled.cancel();
  const frozen = rig.freeze(join(disk, 'work'));
  t.throws(() => rig.store.store(randomUUID(), frozen, cancelled), /Cancelled/);
  t.equal(rig.objects().length, 3, 'nothing is left of one that was not wanted');
  t.same(extentsOf(join(rig.folder, 'content', `${first.id}.0`)), extentsOf(path));
  const second = rig.take(first.id);
  t.same([second.added, second.read], [0, []]);

  const { head, tree } = rig.manifest(second.id);
  t.equal(head.isSealed, false);
  const sealed = rig.store.seal(tree, new JobProgress());
  t.match(sealed.files[0]?.digest, /^[0-9a-f]{64}$/);
  const target = join(disk, 'built');
  rig.store.build(sealed, target, new JobProgress());
  t.same(extentsOf(join(target, 'disk')), extentsOf(path), 'and are given back so');

  const object = openSync(join(rig.folder, 'content', `${first.id}.0`), 'r+');
  writeSync(object, 'x', MIB);
  closeSync(object);
  t.match(rig.store.verify(sealed, new JobProgress()), [{ path: 'disk' }]);
  t.throws(() => {
    rig.store.build(sealed, join(disk, 'not'), new JobProgress());
  }, /damaged/);
  t.notOk(existsSync(join(disk, 'not')));
  t.not(rig.take(second.id).read.length, 0, 'what is damaged serves no other snapshot');
  t.end();
});

void t.test('damage is found wherever it is', (t) => {
  const rig = new ContentRig(scratchFolder(t));
  const bytes = new RandomBytes(5);
  writeFiles(rig.project, { a: bytes.next(5000), b: bytes.next(CHUNK + 10), c: Buffer.alloc(1) });
  const { id } = rig.take();
  const { tree } = rig.manifest(id);
  t.same(
    tree.files.flatMap(({ extents }) => extents.map(({ offset }) => offset)),
    [0, 8192],
    'each begins at a page of its own',
  );
  const pack = join(rig.folder, 'content', `${id}.pack`);
  const whole = readFileSync(pack);
  const random = new Random(testSeed(6));
  const positions = tree.files.flatMap(({ path, extents }) =>
    extents.flatMap(({ offset, length }) =>
      [0, length - 1, ...Array.from({ length: 20 }, () => random.below(length))].map(
        (at): [string, number] => [path, offset + at],
      ),
    ),
  );
  t.ok(positions.length > 40);
  const target = join(rig.scratch, 'target');
  const refused = (message: RegExp): void => {
    t.throws(() => {
      rig.store.build(tree, target, new JobProgress());
    }, message);
    t.notOk(existsSync(target));
  };
  for (const [path, position] of positions) {
    const damaged = Buffer.from(whole);
    damaged[position] = (damaged[position] ?? 0) ^ (1 << random.below(8));
    writeFileSync(pack, damaged);
    t.same(
      rig.damage(id).map((found) => found.path),
      [path],
      `at ${position}`,
    );
    refused(/^The snapshot is damaged/);
  }
  for (const length of [0, 1, 4999, whole.length - 1]) {
    writeFileSync(pack, whole.subarray(0, length));
    t.not(rig.damage(id).length, 0, `cut to ${length}`);
    refused(/too short/);
  }
  rmSync(pack);
  t.same(
    rig.damage(id).map(({ path }) => path),
    ['a', 'b'],
  );
  refused(/missing/);
  mkdirSync(pack);
  refused(/damaged/);
  t.end();
});

void t.test('later snapshots do not rely on damaged objects', (t) => {
  const rig = new ContentRig(scratchFolder(t));
  writeFiles(rig.project, { file: new RandomBytes(7).next(3 * CHUNK) });
  const first = rig.take();
  const pack = openSync(join(rig.folder, 'content', `${first.id}.pack`), 'r+');
  writeSync(pack, 'x', CHUNK);
  closeSync(pack);
  t.equal(rig.damage(first.id).length, 1);
  const second = rig.take(first.id);
  t.equal(second.added, 3 * CHUNK);
  t.strictSame(rig.built(second.id), rig.record());
  removeManifest(rig.folder, first.id);
  rig.store.collect();
  t.same(rig.objects(), [`${second.id}.index`, `${second.id}.pack`], 'its mark goes with it');
  t.end();
});

void t.test('an index that is damaged or missing harms nothing', (t) => {
  const rig = new ContentRig(scratchFolder(t));
  writeFiles(rig.project, { file: new RandomBytes(8).next(5 * CHUNK) });
  const { id } = rig.take();
  const index = join(rig.folder, 'content', `${id}.index`);
  const whole = readFileSync(index);
  for (let at = 0; at < whole.length; at += 13) {
    const damaged = Buffer.from(whole);
    damaged[at] = (damaged[at] ?? 0) ^ 1;
    writeFileSync(index, damaged);
    const other = rig.take();
    t.equal(other.added, 5 * CHUNK);
    t.strictSame(rig.built(other.id), rig.record());
    removeManifest(rig.folder, other.id);
    rig.store.collect();
  }
  rmSync(index);
  t.equal(rig.take().added, 5 * CHUNK);
  t.end();
});

void t.test('a cancelled job leaves nothing', (t) => {
  const rig = new ContentRig(scratchFolder(t));
  writeFiles(rig.project, { file: new RandomBytes(9).next(5 * CHUNK) });
  const { id } = rig.take();
  const before = rig.objects();
  writeFiles(rig.project, { other: new RandomBytes(10).next(5 * CHUNK) });
  const progress = new JobProgress();
  progress.cancel();
  const frozen = rig.freeze(join(rig.scratch, 'work'));
  t.throws(() => rig.store.store(randomUUID(), frozen, progress), /Cancelled/);
  t.same(rig.objects(), before);
  const target = join(rig.scratch, 'target');
  t.throws(() => {
    rig.store.build(rig.manifest(id).tree, target, progress);
  }, /Cancelled/);
  t.notOk(existsSync(target));
  t.throws(() => rig.store.verify(rig.manifest(id).tree, progress), /Cancelled/, 'that is no damage');
  t.end();
});

void t.test('a build leaves an existing folder alone', (t) => {
  const rig = new ContentRig(scratchFolder(t));
  writeFiles(rig.project, { file: 'new' });
  const { id } = rig.take();
  writeFiles(rig.scratch, { 'there/file': 'old' });
  t.throws(() => {
    rig.store.build(rig.manifest(id).tree, join(rig.scratch, 'there'), new JobProgress());
  });
  t.equal(readFileSync(join(rig.scratch, 'there/file'), 'utf8'), 'old');
  t.end();
});

void t.test('a full disk', (t) => {
  const disk = smallDisk(t, 8 * 1024);
  if (disk === undefined) {
    t.pass(NO_MOUNT);
    t.end();
    return;
  }
  const rig = new ContentRig(disk);
  writeFiles(rig.project, { a: new RandomBytes(11).next(MIB), b: 'b' });
  const { id } = rig.take();
  const objects = rig.objects();
  const whole = rig.record();
  writeFiles(rig.project, { c: new RandomBytes(12).next(2 * MIB) });
  const free = fillDisk(disk, MIB / 2);
  const statusOf = (act: () => unknown): number | undefined => {
    try {
      act();
      return undefined;
    } catch (error) {
      return failureOf(error).status;
    }
  };
  t.equal(
    statusOf(() => rig.take(id)),
    507,
  );
  t.same(rig.objects(), objects);
  const target = join(disk, 'target');
  t.equal(
    statusOf(() => {
      rig.store.build(rig.manifest(id).tree, target, new JobProgress());
    }),
    507,
  );
  t.notOk(existsSync(target));
  free();
  t.strictSame(rig.built(id), whole);
  t.end();
});

void t.test('a file that is written to while it is read is refused', (t) => {
  const rig = new ContentRig(scratchFolder(t));
  writeFiles(rig.project, { file: new RandomBytes(13).next(3 * CHUNK) });
  const frozen = rig.freeze(join(rig.scratch, 'work'));
  const fd = openSync(join(rig.project, 'file'), 'r+');
  writeSync(fd, 'x', 0);
  closeSync(fd);
  const act = (): unknown => rig.store.store(randomUUID(), frozen, new JobProgress());
  t.throws(
    act,
    new Refusal(
      409,
      'content_changing',
      'file was changed while it was read: stop what writes to it, then try again',
    ),
  );
  t.same(rig.objects(), []);
  t.end();
});

void t.test('a file that is replaced after the freeze keeps its frozen content', (t) => {
  const rig = new ContentRig(scratchFolder(t));
  writeFiles(rig.project, { file: 'old', other: 'other' });
  const before = rig.record();
  const id = randomUUID();
  const frozen = rig.freeze(join(rig.scratch, 'work'));
  writeFiles(rig.project, { new: 'new' });
  renameSync(join(rig.project, 'new'), join(rig.project, 'file'));
  const { tree } = rig.store.store(id, frozen, new JobProgress());
  const target = join(rig.scratch, 'target');
  rig.store.build(tree, target, new JobProgress());
  t.equal(readFileSync(join(target, 'file'), 'utf8'), 'old');
  t.equal(before.size, tree.files.length);
  t.end();
});
