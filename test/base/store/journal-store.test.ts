import { spawnSync } from 'node:child_process';
import {
  closeSync,
  mkdirSync,
  openSync,
  readSync,
  rmSync,
  statfsSync,
  truncateSync,
  writeFileSync,
  writeSync,
} from 'node:fs';
import { join } from 'node:path';
import { crc32 } from 'node:zlib';
import t from 'tap';
import { performTask, valueOf } from '../../../src/base/threads/task.js';
import { HEAD_LENGTH, HEAD_PLACES } from '../../../src/base/store/journal-format.js';
import { JournalStore } from '../../../src/base/store/journal-store.js';
import { examineStore } from '../../../src/base/store/store-examination.js';
import { packChanges, unpackRecords } from '../../../src/base/store/packing.js';
import { StateThread } from '../../../src/base/store/state-thread.js';
import { stateTasks, type StateTasks } from '../../../src/base/store/state-tasks.js';
import type { Change, Packed } from '../../../src/base/store/store.js';
import { Random } from '../../support/random.js';
import { refuseCommits } from '../../support/refused-commits.js';
import { scratchFolder, type Teardown } from '../../support/scratch.js';

const put = (key: string, value: unknown): Change => ({ put: ['x', key], value });

void t.test('opens a folder of its own format again', (t) => {
  const folder = scratchFolder(t);
  const first = new JournalStore(folder);
  first.commit([put('a', 1)]);
  first.close();
  const second = new JournalStore(folder);
  t.same(second.load(['x']), [{ key: ['x', 'a'], value: 1 }]);
  second.close();
  t.end();
});

/** As a later version would say it. */
function giveFormat(folder: string, format: number): void {
  const fd = openSync(join(folder, 'journal'), 'r+');
  for (const place of HEAD_PLACES) {
    const head = Buffer.alloc(HEAD_LENGTH);
    readSync(fd, head, 0, HEAD_LENGTH, place);
    head.writeUInt32LE(format, 8);
    head.writeUInt32LE(crc32(head.subarray(0, 40)), 40);
    writeSync(fd, head, 0, HEAD_LENGTH, place);
  }
  closeSync(fd);
}

void t.test('refuses a folder of an unknown format with one clear message', (t) => {
  const folder = scratchFolder(t);
  t.match(examineStore(folder), { format: undefined, written: 2 });
  new JournalStore(folder).close();
  t.match(examineStore(folder), { format: 2 });
  giveFormat(folder, 99);
  const message = 'The state folder has format 99, this Wirefarm reads format 2: a newer one has written it';
  t.throws(() => new JournalStore(folder), { message });
  t.throws(() => examineStore(folder), { message });
  t.end();
});

void t.test('a state thread on a folder of an unknown format refuses every request', async (t) => {
  const folder = scratchFolder(t);
  new JournalStore(folder).close();
  giveFormat(folder, 99);
  const store = new StateThread(folder);
  await t.rejects(store.load(['x']), { message: /format 99/ });
});

/** A file system of 2 MiB of the test's own; undefined where it cannot be mounted. */
function smallDisk(t: Teardown): string | undefined {
  const folder = scratchFolder(t);
  const disk = join(folder, 'disk');
  mkdirSync(disk);
  if (spawnSync('mount', ['-t', 'tmpfs', '-o', 'size=2m', 'tmpfs', disk]).status !== 0) return undefined;
  t.teardown(() => {
    spawnSync('umount', ['--lazy', disk]);
  });
  return disk;
}

/** Leaves only so much room on the disk; returns what makes room again. */
function fill(disk: string, left: number): () => void {
  const { bavail, bsize } = statfsSync(disk);
  const ballast = join(disk, 'ballast');
  writeFileSync(ballast, Buffer.alloc(Math.max(0, bavail * bsize - left), 1));
  return () => {
    truncateSync(ballast);
    rmSync(ballast);
  };
}

void t.test('a full disk refuses commits with 507 and harms nothing', async (t) => {
  const disk = smallDisk(t);
  if (disk === undefined) {
    t.pass('# SKIP a tmpfs cannot be mounted here: it takes root');
    return;
  }
  const state = join(disk, 'state');
  mkdirSync(state);
  const store = new StateThread(state);
  const early = Array.from({ length: 20 }, (_, index) => put(String(index).padStart(3, '0'), { index }));
  await store.commit(early);
  const release = fill(disk, 64 * 1024);
  const large = 'x'.repeat(16 * 1024);
  let accepted = 0;
  let refused: unknown;
  while (refused === undefined && accepted < 100) {
    try {
      await store.commit([put(`late-${String(accepted).padStart(3, '0')}`, large), put('count', accepted)]);
      accepted++;
    } catch (error) {
      refused = error;
    }
  }
  t.match(refused, { name: 'Refusal', status: 507, message: /No space left/ });
  await t.rejects(store.commit([put('again', 'x'.repeat(256 * 1024))]), {
    name: 'Refusal',
    message: /No space left/,
  });

  const records = await store.load(['x']);
  t.same(
    records.slice(0, 20),
    early.map((change) => ({
      key: 'put' in change ? change.put : [],
      value: 'put' in change && change.value,
    })),
    'earlier records are readable',
  );
  t.equal(records.length, 20 + (accepted > 0 ? accepted + 1 : 0), 'no refused commit left a part');

  release();
  await store.commit([put('after', large)]);
  t.equal((await store.load(['x', 'after'])).length, 1, 'works again once there is room');
  await store.close();

  const again = new StateThread(state);
  t.equal((await again.load(['x'])).length, records.length + 1, 'and all of it is on the disk');
  await again.close();
});

void t.test('the tasks of the state thread commit and load packed', async (t) => {
  const tasks: StateTasks = stateTasks(scratchFolder(t));
  t.same(await performTask(tasks, { task: 'commit', input: { parts: [packChanges([put('a', 1)])] } }), {
    value: 1,
  });
  const outcome = await performTask(tasks, { task: 'load', input: [['x']] });
  const { records, number } = valueOf(outcome) as { records: Packed; number: number };
  t.same(unpackRecords(records), [{ key: ['x', 'a'], value: 1 }]);
  t.equal(number, 1, 'as of the commit');
  tasks.close(undefined);
});

void t.test('packed bytes own the whole of their buffer, so that they can be moved', (t) => {
  const packed = packChanges([put('a', 1)]);
  t.equal(packed.byteOffset, 0);
  t.equal(packed.buffer.byteLength, packed.byteLength);
  t.end();
});

/** Takes all room of the disk and of the journal; what is left would not hold 10 bytes. */
function fillUp(disk: string, store: JournalStore): () => void {
  const giveBack = fill(disk, 0);
  for (const length of [16_384, 1024, 64, 1]) {
    for (let count = 0; ; count++) {
      try {
        store.commit([put(`fill-${length}-${count}`, 'f'.repeat(length))]);
      } catch {
        break;
      }
    }
  }
  return giveBack;
}

void t.test('many refused commits are many times nothing', (t) => {
  const disk = smallDisk(t);
  if (disk === undefined) {
    t.pass('# SKIP a tmpfs cannot be mounted here: it takes root');
    t.end();
    return;
  }
  const state = join(disk, 'state');
  mkdirSync(state);
  const store = new JournalStore(state);
  store.commit(Array.from({ length: 300 }, (_, index) => put(String(index), 'x'.repeat(1000))));
  const giveBack = fillUp(disk, store);
  refuseCommits(t, store, new Random(61), 500, 507);
  const count = store.load(['x']).length;
  store.commit([{ remove: ['x', '7'] }]);
  t.equal(store.load(['x']).length, count - 1, 'what makes the store smaller works');
  store.commit([{ clear: ['x'] }, put('left', 1)]);
  t.same(store.load(['x']), [{ key: ['x', 'left'], value: 1 }]);
  giveBack();
  store.commit([put('large', 'l'.repeat(300_000))]);
  t.equal(store.load(['x']).length, 2, 'and so does the rest once there is room');
  store.close();
  const again = new JournalStore(state);
  t.equal(again.load(['x']).length, 2);
  t.same(again.notices, []);
  again.close();
  t.end();
});

void t.test('a thousand deletions fit on a full disk', (t) => {
  const disk = smallDisk(t);
  if (disk === undefined) {
    t.pass('# SKIP a tmpfs cannot be mounted here: it takes root');
    t.end();
    return;
  }
  const state = join(disk, 'state');
  mkdirSync(state);
  const store = new JournalStore(state);
  store.commit(Array.from({ length: 1000 }, (_, index) => put(String(index), index)));
  fillUp(disk, store);
  for (let index = 0; index < 1000; index++) store.commit([{ remove: ['x', String(index)] }]);
  t.ok(store.load(['x']).every(({ key }) => key[1]?.startsWith('fill-')));
  store.close();
  t.end();
});
