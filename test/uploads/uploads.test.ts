/** All uploads: how they begin, what an earlier life of the process has left, and when they are forgotten. */
import { existsSync, readdirSync, readFileSync, utimesSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { mock } from 'node:test';
import t from 'tap';
import { refusals } from '../../src/errors.js';
import { partPath, partTasks } from '../../src/uploads/part-tasks.js';
import { eventually } from '../support/eventually.js';
import { RandomBytes } from '../support/random.js';
import { hashOf, recordOf, SentBody, uploadRig, wishOf } from '../support/upload-rig.js';

const CONTENT = new RandomBytes(2).next(100);
const DAY_MS = 24 * 60 * 60 * 1000;

void t.test('an upload is on the disk when it is created, and announced', async (t) => {
  const rig = uploadRig(t);
  const upload = await rig.uploads.create(wishOf(100, { metadata: 'a YQ==' }));
  t.same(readdirSync(rig.folder).sort(), [`${upload.id}.json`, `${upload.id}.part`]);
  t.equal(rig.uploads.find(upload.id), upload);
  t.equal(upload.metadata, 'a YQ==');
  t.match(rig.uploads.list(), [
    {
      emulator: 'qemu',
      filename: 'a.img',
      protocol: 'tus',
      rate: 0,
      received: 0,
      size: 100,
      state: 'waiting',
      upload_id: upload.id,
    },
  ]);
  t.match(rig.events, [{ action: 'upload.created', event: { upload_id: upload.id } }]);
  await upload.append(0, SentBody.of(CONTENT));
  t.match(rig.events.at(-1), { action: 'upload.finished', event: { state: 'finished', received: 100 } });
  t.same(rig.uploads.list(), [], 'it is no longer on its way');
  t.equal(rig.uploads.find(upload.id).received, 100, 'but it answers');
});

void t.test('creation with bytes keeps nothing of what its client cannot ask for', async (t) => {
  const rig = uploadRig(t);
  const whole = await rig.uploads.create(wishOf(100), SentBody.of(CONTENT));
  t.equal(whole.state, 'finished');
  const some = await rig.uploads.create(wishOf(100), SentBody.of(CONTENT.subarray(0, 60)));
  t.match(some, { state: 'waiting', received: 60 });
  await some.remove();

  const body = new SentBody(100);
  const creating = rig.uploads.create(wishOf(100), body);
  await body.taken;
  body.vanish();
  await t.rejects(creating);
  const checksum = { digest: 'md5', hex: hashOf('md5', CONTENT.subarray(1)) } as const;
  await t.rejects(rig.uploads.create(wishOf(100), SentBody.of(CONTENT), checksum), {
    status: 460,
    message: /./,
  });
  t.same(rig.uploads.list(), []);
  t.same(readdirSync(rig.folder), [`${whole.id}.json`]);
});

void t.test('an empty upload lands at once, or is not there at all', async (t) => {
  const rig = uploadRig(t);
  const upload = await rig.uploads.create(wishOf(0));
  t.equal(upload.state, 'finished');
  t.equal(readFileSync(rig.target).length, 0);
  rig.refuse = refusals.fileForbidden();
  await t.rejects(rig.uploads.create(wishOf(0)), { status: 403, message: /./ });
  t.same(readdirSync(rig.folder), [`${upload.id}.json`]);
});

void t.test('there are not too many, also when they all begin at the same time', async (t) => {
  // So many files would take long to sync.
  const rig = uploadRig(t, { disk: { ...partTasks, createPart: () => undefined } });
  const all = await Promise.allSettled(Array.from({ length: 1005 }, () => rig.uploads.create(wishOf(1))));
  t.equal(all.filter(({ status }) => status === 'fulfilled').length, 1000);
  t.match(all.at(-1), { reason: { status: 503 } });
  t.equal(rig.uploads.list().length, 1000);
  const [first] = rig.uploads.list();
  await rig.uploads.find(first?.upload_id ?? '').remove();
  await rig.uploads.create(wishOf(1));
});

void t.test('a later life goes on with what is on the disk', async (t) => {
  const folder = join(t.testdir(), 'uploads');
  const before = uploadRig(t, { folder });
  const upload = await before.uploads.create(wishOf(100));
  await upload.append(0, SentBody.of(CONTENT.subarray(0, 60)));
  // As if the process had been killed while it wrote: the length of the part is what counts.
  writeFileSync(partPath({ folder, id: upload.id }), CONTENT.subarray(0, 70));
  writeFileSync(join(folder, `${recordOf(1).upload_id}.part`), 'x');

  const rig = uploadRig(t, { folder });
  await rig.uploads.start();
  const found = rig.uploads.find(upload.id);
  t.match(found, { received: 70, state: 'waiting', startedAt: upload.startedAt });
  await found.append(70, SentBody.of(CONTENT.subarray(70)));
  t.ok(readFileSync(rig.target).equals(CONTENT));

  const last = uploadRig(t, { folder });
  await last.uploads.start();
  t.match(last.uploads.find(upload.id), { received: 100, state: 'finished', expiresAt: found.expiresAt });
  t.same(last.uploads.list(), []);
});

void t.test('what was complete when the process died lands in its next life', async (t) => {
  const folder = join(t.testdir(), 'uploads');
  const record = recordOf(100);
  partTasks.createPart({ folder, record });
  writeFileSync(partPath({ folder, id: record.upload_id }), CONTENT);
  const rig = uploadRig(t, { folder });
  await rig.uploads.start();
  await eventually('it has landed', () => existsSync(rig.target) || undefined);
  await eventually('it is finished', () => rig.uploads.find(record.upload_id).isFinished || undefined);
});

void t.test('an upload is forgotten a day after its last byte', async (t) => {
  const folder = join(t.testdir(), 'uploads');
  const old = recordOf(100, { started_at: 0 });
  const recent = recordOf(100, { started_at: 0 });
  const landed = recordOf(100, { started_at: 0, finished_at: Date.now() - DAY_MS - 1000 });
  for (const record of [old, recent, landed]) partTasks.createPart({ folder, record });
  for (const [record, ageMs] of [
    [old, DAY_MS + 1000],
    [recent, DAY_MS - 100_000],
  ] as const) {
    const seconds = (Date.now() - ageMs) / 1000;
    utimesSync(partPath({ folder, id: record.upload_id }), seconds, seconds);
  }
  const rig = uploadRig(t, { folder });
  await rig.uploads.start();
  t.same(readdirSync(folder).sort(), [`${recent.upload_id}.json`, `${recent.upload_id}.part`]);
  t.match(rig.events, [{ action: 'upload.deleted', event: { upload_id: old.upload_id } }]);
  t.equal(rig.events.length, 1, 'of what has landed nothing has gone');
});

void t.test('the end of a lifetime is seen while the process runs', async (t) => {
  mock.timers.enable({ apis: ['setInterval'] });
  t.teardown(() => {
    mock.timers.reset();
  });
  const rig = uploadRig(t, { lifetimeMs: 0 });
  await rig.uploads.start();
  const upload = await rig.uploads.create(wishOf(100));
  mock.timers.tick(60_000);
  await eventually('it has gone', () => (readdirSync(rig.folder).length === 0 ? true : undefined));
  t.throws(() => rig.uploads.find(upload.id), { status: 404, message: /./ });
});
