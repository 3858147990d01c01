import { spawnSync } from 'node:child_process';
import { mkdirSync, rmSync, statfsSync, truncateSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { open } from 'lmdb';
import t from 'tap';
import { performTask } from '../../src/pool/task.js';
import { LmdbStore } from '../../src/store/lmdb-store.js';
import { packChanges, unpackRecords, type Packed } from '../../src/store/packing.js';
import { StateThread } from '../../src/store/state-thread.js';
import { stateTasks, type StateTasks } from '../../src/store/state-tasks.js';
import type { Change } from '../../src/store/store.js';
import { scratchFolder, type Teardown } from '../support/scratch.js';

const put = (key: string, value: unknown): Change => ({ put: ['x', key], value });

void t.test('opens a folder of its own format again', async (t) => {
  const folder = scratchFolder(t);
  const first = new LmdbStore(folder);
  first.commit([put('a', 1)]);
  await first.close();
  const second = new LmdbStore(folder);
  t.same(second.load(['x']), [{ key: ['x', 'a'], value: 1 }]);
  await second.close();
});

void t.test('refuses a folder of an unknown format with one clear message', async (t) => {
  const folder = scratchFolder(t);
  const database = open<unknown>({ path: folder, encoding: 'msgpack', noSubdir: false });
  await database.put(['format'], 99);
  await database.close();
  t.throws(() => new LmdbStore(folder), {
    message: 'The state folder has format 99, this Wirefarm reads format 1',
  });
});

void t.test('a state thread on a folder of an unknown format refuses every request', async (t) => {
  const folder = scratchFolder(t);
  const database = open<unknown>({ path: folder, encoding: 'msgpack', noSubdir: false });
  await database.put(['format'], 99);
  await database.close();
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
  t.same(await performTask(tasks, { task: 'commit', input: [packChanges([put('a', 1)])] }), {
    value: undefined,
  });
  const outcome = await performTask(tasks, { task: 'load', input: [['x']] });
  t.same('value' in outcome && unpackRecords(outcome.value as Packed), [{ key: ['x', 'a'], value: 1 }]);
  await tasks.close(undefined);
});

void t.test('packed bytes own the whole of their buffer, so that they can be moved', (t) => {
  const packed = packChanges([put('a', 1)]);
  t.equal(packed.byteOffset, 0);
  t.equal(packed.buffer.byteLength, packed.byteLength);
  t.end();
});
