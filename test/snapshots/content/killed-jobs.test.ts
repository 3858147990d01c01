/** The server dies before any file operation of a job, and no snapshot that there was is harmed. */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { cpSync, readdirSync, rmSync } from 'node:fs';
import { randomUUID } from 'node:crypto';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { text } from 'node:stream/consumers';
import t, { type Test } from 'tap';
import { manifestIds } from '../../../src/snapshots/content/manifest.js';
import type { contentJobs } from '../../support/content-jobs.js';
import { ContentRig } from '../../support/content-rig.js';
import { writeFiles } from '../../support/file-trees.js';
import { RandomBytes } from '../../support/random.js';
import { NO_REFLINKS, reflinkDisk } from '../../support/reflink-disk.js';
import { scratchFolder } from '../../support/scratch.js';

const PROGRAM = fileURLToPath(new URL('../../support/content-steps.js', import.meta.url));
const CHUNK = 64 * 1024;

type Job = keyof typeof contentJobs;

interface Setting {
  readonly rig: ContentRig;
  readonly ids: readonly [string, string];
  /** The files that each snapshot has when it is built. */
  readonly expected: ReadonlyMap<string, ReadonlyMap<string, string>>;
}

/** Two snapshots, and a later change. */
function setting(scratch: string): Setting {
  const rig = new ContentRig(join(scratch, 'whole'));
  const bytes = new RandomBytes(1);
  const shared = bytes.next(2 * CHUNK);
  writeFiles(rig.project, {
    'a/disk': Buffer.concat([shared, bytes.next(CHUNK)]),
    'a/b': 'b',
    gone: bytes.next(5000),
  });
  const first = rig.take();
  const expected = new Map([[first.id, rig.record()]]);
  rmSync(join(rig.project, 'gone'));
  writeFiles(rig.project, { 'a/disk': Buffer.concat([shared, bytes.next(CHUNK + 9)]) });
  const second = rig.take(first.id);
  expected.set(second.id, rig.record());
  writeFiles(rig.project, { 'a/disk': Buffer.concat([bytes.next(CHUNK), shared]), 'a/c': 'c' });
  return { rig, ids: [first.id, second.id], expected };
}

/**
 * Checks what there would be if it had been killed before any of its file operations, and at last when it is done.
 * Returns the operations.
 */
async function killEverywhere(
  t: Test,
  { rig }: Setting,
  job: Job,
  ids: readonly string[],
  check: (left: ContentRig, isDone: boolean, step: number) => void,
): Promise<readonly string[]> {
  const scratch = join(rig.scratch, '..', job);
  const states = `${scratch}-states`;
  cpSync(rig.scratch, scratch, { recursive: true, preserveTimestamps: true, verbatimSymlinks: true });
  const child = spawn(process.execPath, [PROGRAM, scratch, states, job, ...ids], {
    stdio: ['ignore', 'pipe', 'inherit'],
    env: {},
  });
  const [told, ended] = await Promise.all([text(child.stdout), once(child, 'exit')]);
  t.same(ended, [0, null]);
  const count = readdirSync(states).length;
  t.comment(`${job} has ${count} states`);
  t.ok(count > 5);
  for (let step = 1; step <= count; step++) {
    check(new ContentRig(join(states, String(step))), step === count, step);
  }
  rmSync(scratch, { recursive: true });
  rmSync(states, { recursive: true });
  return JSON.parse(told) as string[];
}

/** Everything that the manifests say is there, and after collecting nothing else. */
function checkWhole(t: Test, left: ContentRig, { expected }: Setting, at: string): void {
  for (const id of manifestIds(left.folder)) t.same(left.damage(id), [], at);
  left.store.collect();
  for (const id of manifestIds(left.folder)) t.strictSame(left.built(id), expected.get(id), at);
  const named = new Set(
    manifestIds(left.folder).flatMap((id) =>
      left.manifest(id).tree.files.flatMap(({ extents }) => extents.map(({ object }) => object)),
    ),
  );
  t.same(
    left.objects().filter((name) => !named.has(name.replace(/index$/, 'pack'))),
    [],
    at,
  );
}

/** The last of each comes in this order. */
function checkOrder(t: Test, operations: readonly string[], order: readonly RegExp[]): void {
  const places = order.map((wanted) => operations.findLastIndex((operation) => wanted.test(operation)));
  t.same(
    places,
    [...places].sort((a, b) => a - b),
    'a power cut finds nothing named that is not there',
  );
  t.notOk(places.includes(-1), operations.join('\n'));
}

async function killAll(t: Test, scratch: string): Promise<void> {
  const whole = setting(scratch);
  const { ids, expected } = whole;
  const [first, second] = ids;

  const third = randomUUID();
  const now = whole.rig.record();
  const taking = await killEverywhere(t, whole, 'take', [second, third], (left, isDone, step) => {
    const known = manifestIds(left.folder);
    t.ok(known.includes(first) && known.includes(second));
    if (isDone) t.ok(known.includes(third));
    const all = new Map([...expected, [third, now]]);
    checkWhole(t, left, { ...whole, expected: all }, `take ${step}`);
    t.strictSame(left.record(), now, 'the project is what it was');
  });

  checkOrder(t, taking, [
    /^fsyncSync .*\/content\/[^/]*\.pack$/,
    /^fsyncSync .*\/content$/,
    /^fsyncSync .*\.tmp$/,
    /^renameSync .*\.manifest$/,
    /^fsyncSync .*\/snapshots$/,
  ]);

  const removing = await killEverywhere(t, whole, 'remove', [first], (left, isDone, step) => {
    const known = manifestIds(left.folder);
    t.ok(known.includes(second));
    if (isDone) t.notOk(known.includes(first));
    checkWhole(t, left, whole, `remove ${step}`);
  });

  checkOrder(t, removing, [
    /^unlinkSync .*\.manifest$/,
    /^fsyncSync .*\/snapshots$/,
    /^(rm|open)Sync .*\/content\//,
  ]);

  await killEverywhere(t, whole, 'seal', [second], (left, _isDone, step) => {
    t.equal(manifestIds(left.folder).length, 2);
    checkWhole(t, left, whole, `seal ${step}`);
  });

  await killEverywhere(t, whole, 'build', [second], (left, _isDone, step) => {
    t.equal(manifestIds(left.folder).length, 2);
    checkWhole(t, left, whole, `build ${step}`);
  });
}

void t.test('killed before every file operation', async (t) => {
  await killAll(t, scratchFolder(t));
});

void t.test('the same where blocks are shared', async (t) => {
  const disk = reflinkDisk(t);
  if (disk === undefined) t.pass(NO_REFLINKS);
  else await killAll(t, disk);
});
