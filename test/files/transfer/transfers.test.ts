/** Everything that comes in as a file, many at a time, through real threads. */
import { existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import t from 'tap';
import { refusals } from '../../../src/base/errors/errors.js';
import { SLAB_LENGTH, SLABS } from '../../../src/base/memory/transfer-memory.js';
import { eventually } from '../../support/eventually.js';
import type { Landed } from '../../../src/files/transfer/landing.js';
import { LiveTransfers } from '../../support/live-transfers.js';
import { Random, RandomBytes } from '../../support/random.js';
import { scratchFolder } from '../../support/scratch.js';
import { hashOf } from '../../support/upload-rig.js';

void t.test('many uploads at once land whole, each with its own fate', async (t) => {
  const live = new LiveTransfers(t);
  const random = new Random(11);
  mkdirSync(join(live.root, 'folder'));
  const parts = scratchFolder(t);
  const run = async (number: number): Promise<void> => {
    const bytes = new RandomBytes(number).next(number % 9 === 0 ? 0 : random.below(3_000_000));
    const path = `${number}`;
    if (number % 7 === 3) {
      const { upload, send } = live.begin(path);
      await send(bytes);
      await upload.drop();
    } else if (number % 7 === 4) {
      const { upload, send } = live.begin('folder');
      await send(bytes);
      await t.rejects(upload.finish(), refusals.isDirectory('folder'));
      await upload.drop();
    } else if (number % 7 === 5) {
      const part = join(parts, path);
      writeFileSync(part, '');
      const { upload, send } = live.append(part, 0, ['sha-256']);
      await send(bytes);
      const content = await upload.finish();
      t.equal(content.digests['sha-256'], hashOf('sha-256', bytes));
      await live.transfers.place(part, live.landing(path), content);
      t.ok(live.content(path).equals(bytes));
    } else {
      const { upload, send } = live.begin(path, { size: bytes.length });
      await send(bytes);
      t.equal((await upload.finish()).digests['sha-256'], hashOf('sha-256', bytes));
      await upload.land();
      t.ok(live.content(path).equals(bytes));
    }
  };
  await Promise.all(Array.from({ length: 60 }, (_, number) => run(number)));
  t.same(live.unfinished, []);
  t.same(readdirSync(parts), []);
  t.equal(live.slabs.taken, 0);
  t.equal(live.transfers.running.size, 0);
  t.equal(live.told.filter((line) => line.startsWith('began')).length, 60);
  t.equal(live.told.length, 120);
  t.same(live.log, []);
});

void t.test(
  'an upload in several requests is digested as it comes, also when one of them breaks off',
  async (t) => {
    const live = new LiveTransfers(t);
    const path = join(scratchFolder(t), 'part');
    writeFileSync(path, '');
    const bytes = new RandomBytes(6).next(3_000_001);
    const whole = { subject: { project_id: 'p', path }, whole: ['md5'] as const };
    const first = live.append(path, 0, ['sha-256'], whole);
    await first.send(bytes.subarray(0, 1_000_000));
    await first.upload.finish();
    const broken = live.append(path, 1_000_000, [], whole);
    await broken.send(bytes.subarray(1_000_000, 2_000_000));
    await broken.upload.drop();
    const last = live.append(path, 2_000_000, ['sha-256'], whole);
    await last.send(bytes.subarray(2_000_000));
    t.same((await last.upload.finish()).digests, {
      md5: hashOf('md5', bytes),
      'sha-256': hashOf('sha-256', bytes.subarray(2_000_000)),
    });
    t.ok(readFileSync(path).equals(bytes));
    await live.allGivenBack();
  },
);

void t.test('content that came as one is stored without a loop', async (t) => {
  const live = new LiveTransfers(t);
  const bytes = new RandomBytes(5).next(1000);
  const seen: Landed[] = [];
  const landing = live.landing('a', { landed: (what) => seen.push(what) });
  const landed = await live.transfers.store(landing, bytes, { 'sha-256': hashOf('sha-256', bytes) });
  t.same(seen, [landed]);
  t.ok(live.content('a').equals(bytes));
  await t.rejects(live.transfers.store(landing, bytes, { md5: '0' }), refusals.uploadDiffers('md5'));
  t.equal(seen.length, 1);
  t.same(live.unfinished, []);
});

void t.test('slabs are shared fairly: more uploads are held back sooner', async (t) => {
  const live = new LiveTransfers(t);
  // Until the thread has come to life it does nothing, and what is written within a turn waits.
  const held = (uploads: number): number => {
    const all = Array.from({ length: uploads }, (_, number) => live.begin(`${number}`));
    const [first] = all;
    const before = live.slabs.taken;
    while (first?.throttle.isPaused === false) first.upload.write(new Uint8Array(SLAB_LENGTH));
    const taken = live.slabs.taken - before;
    dropped.push(...all.map(({ upload }) => upload.drop()));
    return taken;
  };
  const dropped: Promise<void>[] = [];
  t.equal(held(1), 16, 'the most that one may hold');
  t.equal(held(63), 4, 'a 64th of a quarter');
  t.equal(held(400), 1, 'the least');
  await Promise.all(dropped);
  t.equal(live.slabs.taken, 0);
  t.same(live.unfinished, []);
});

void t.test('uploads that find no slab are refused; those that have theirs go on', async (t) => {
  const live = new LiveTransfers(t);
  const bytes = new RandomBytes(3).next(SLAB_LENGTH);
  const lucky = live.begin('lucky');
  lucky.upload.write(bytes);
  const taken: number[] = [];
  for (let slab = live.slabs.take(); slab !== undefined; slab = live.slabs.take()) taken.push(slab);
  t.equal(taken.length, SLABS - 1);
  const unlucky = live.begin('unlucky');
  unlucky.upload.write(bytes);
  await t.rejects(unlucky.upload.failure, refusals.tooBusy());
  await unlucky.upload.drop();
  t.equal((await lucky.upload.finish()).digests['sha-256'], hashOf('sha-256', bytes));
  await lucky.upload.land();
  for (const slab of taken) live.slabs.giveBack(slab);
  t.same(live.unfinished, []);
  t.equal(live.slabs.taken, 0);
});

void t.test('at its end nothing is left of what is on its way', async (t) => {
  const live = new LiveTransfers(t);
  const bytes = new RandomBytes(4).next(500_000);
  const all = ['a', 'b', 'c'].map((path) => live.begin(path));
  for (const { send } of all) await send(bytes);
  await eventually('all have begun', () =>
    existsSync(live.temporary) && live.unfinished.length === 3 ? true : undefined,
  );
  await live.transfers.close();
  t.same(live.unfinished, []);
  for (const { upload } of all) await upload.drop();
  const late = live.begin('late');
  await t.rejects(late.upload.failure, refusals.stopping());
  await late.upload.drop();
  t.same(readdirSync(live.root), ['tmp']);
  t.equal(live.transfers.running.size, 0);
});
