/** All uploads: how they begin, what an earlier life of the process has left, and when they are forgotten. */
import { partPath } from '../../../src/files/uploads/upload-request.js';
import {
  existsSync,
  readdirSync,
  readFileSync,
  rmSync,
  truncateSync,
  utimesSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { mock } from 'node:test';
import t from 'tap';
import { refusals } from '../../../src/base/errors/errors.js';
import { partTasks } from '../../../src/files/uploads/part-tasks.js';
import { eventually } from '../../support/eventually.js';
import { RandomBytes } from '../../support/random.js';
import type { Teardown } from '../../support/scratch.js';
import {
  hashOf,
  recordOf,
  SentBody,
  toldEverything,
  uploadRig,
  wishOf,
  type UploadRig,
} from '../../support/upload-rig.js';

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
  await toldEverything();
  t.match(rig.events, [{ action: 'upload.created', event: { upload_id: upload.id } }]);
  await upload.append(0, SentBody.of(CONTENT));
  await toldEverything();
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

void t.test(
  'there are not too many: the oldest of those without bytes give way, however many begin',
  async (t) => {
    // So many files would take long.
    const createPart: typeof partTasks.createPart = (input) => {
      if (input.record.size > 1) partTasks.createPart(input);
    };
    const rig = uploadRig(t, { disk: { ...partTasks, createPart } });
    const bytes = new RandomBytes(3).next(200_000);
    const large = await rig.uploads.create(wishOf(300_000), SentBody.of(bytes));
    const little = await rig.uploads.create(wishOf(300_000), SentBody.of(bytes.subarray(0, 100)));
    const first = await rig.uploads.create(wishOf(1));
    const all = await Promise.all(Array.from({ length: 1005 }, () => rig.uploads.create(wishOf(1))));
    await eventually('what is too many has gone', () =>
      rig.uploads.list().length === 1000 ? true : undefined,
    );
    t.throws(() => rig.uploads.find(first.id), { status: 404, message: /./ });
    const left = new Set(rig.uploads.list().map((upload) => upload.upload_id));
    t.same(
      all.map(({ id }) => left.has(id)),
      all.map((_, index) => index >= 7),
      'the oldest',
    );
    t.equal(rig.uploads.find(little.id), little);
    t.equal(rig.uploads.find(large.id).received, 200_000);
  },
);

void t.test('among uploads with bytes only those with few give way', async (t) => {
  const folder = join(t.testdir(), 'uploads');
  for (let count = 1; count < 1000; count++) {
    const record = recordOf(100_000);
    partTasks.createPart({ folder, record });
    truncateSync(partPath({ folder, id: record.upload_id }), 70_000);
  }
  const rig = uploadRig(t, { folder });
  await rig.uploads.start();
  const little = await rig.uploads.create(wishOf(100_000), SentBody.of(new Uint8Array(60_000)));
  const empty = await rig.uploads.create(wishOf(1));
  await eventually('one gives way', () => (rig.uploads.list().length === 1000 ? true : undefined));
  t.throws(() => rig.uploads.find(little.id), { status: 404, message: /./ });
  await rig.uploads.create(wishOf(1));
  await eventually('the empty one gives way', () => (rig.uploads.list().length === 1000 ? true : undefined));
  t.throws(() => rig.uploads.find(empty.id), { status: 404, message: /./ });
});

/** As many unfinished uploads as there may be, of 70,000 bytes each: `greedy` of them of one address. */
async function manyUploads(rig: UploadRig, greedy: number): Promise<string[]> {
  const ids: string[] = [];
  for (let count = 0; count < 1000; count++) {
    const client = count < greedy ? '10.0.0.2' : `10.0.1.${count}`;
    const body = SentBody.of(new Uint8Array(70_000));
    ids.push((await rig.uploads.create(wishOf(100_000, { client }), body)).id);
  }
  return ids;
}

/** So many files of so many bytes would take long. */
const noFiles: typeof partTasks = {
  ...partTasks,
  createPart: ({ folder, record }) => {
    writeFileSync(partPath({ folder, id: record.upload_id }), '');
  },
  writeRecord: () => undefined,
  measurePart: () => 70_000,
};

void t.test('an address with more than half of the uploads keeps no other from one', async (t) => {
  const rig = uploadRig(t, { folder: t.testdir(), disk: noFiles });
  const [oldest = '', ...others] = await manyUploads(rig, 501);
  await t.rejects(rig.uploads.create(wishOf(1, { client: '10.0.0.2' })), { status: 503, message: /./ });
  const honest = await rig.uploads.create(wishOf(1, { client: '10.0.0.1' }));
  await eventually('one gives way', () => (rig.uploads.list().length === 1000 ? true : undefined));
  t.throws(() => rig.uploads.find(oldest), { status: 404, message: /./ });
  for (const id of [honest.id, ...others]) t.equal(rig.uploads.find(id).id, id);
});

void t.test('among uploads of many clients one gives way when it has rested for an hour', async (t) => {
  stoppedTimers(t);
  const clock = new TestClock();
  const rig = uploadRig(t, { folder: t.testdir(), disk: noFiles, clock });
  await rig.uploads.start();
  const [oldest = '', second = ''] = await manyUploads(rig, 0);
  clock.pass(HOUR_MS - 1);
  await t.rejects(rig.uploads.create(wishOf(1, { client: '10.0.0.1' })), { status: 503, message: /./ });
  await rig.uploads.find(oldest).append(70_000, SentBody.of(new Uint8Array(1)));
  clock.pass(1);
  await rig.uploads.create(wishOf(1, { client: '10.0.0.1' }));
  await eventually('one gives way', () => (rig.uploads.list().length === 1000 ? true : undefined));
  t.throws(() => rig.uploads.find(second), { status: 404, message: /./ });
  t.equal(rig.uploads.find(oldest).id, oldest, 'not the one that has just come on');
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
  t.match(last.uploads.find(upload.id), { received: 100, state: 'finished' });
  t.ok(Math.abs(last.uploads.find(upload.id).expiresAt - found.expiresAt) < 10_000);
  t.same(last.uploads.list(), []);
});

void t.test('an upload that was complete when the process died lands in its next life', async (t) => {
  const folder = join(t.testdir(), 'uploads');
  const record = recordOf(100);
  partTasks.createPart({ folder, record });
  writeFileSync(partPath({ folder, id: record.upload_id }), CONTENT);
  const rig = uploadRig(t, { folder });
  await rig.uploads.start();
  await eventually('it has landed', () => existsSync(rig.target) || undefined);
  await eventually('it is finished', () => rig.uploads.find(record.upload_id).isFinished || undefined);
});

/** A process that lives on as the test says, and whose time of day may be set. */
class TestClock {
  now = 5000;
  day = Date.now();
  readonly monotonic = (): number => this.now;
  readonly wall = (): number => this.day;

  /** Time passes, and what has expired is forgotten. */
  pass(ms: number): void {
    this.now += ms;
    this.day += ms;
    this.look();
  }

  look(): void {
    mock.timers.tick(60_000);
  }
}

function stoppedTimers(t: Teardown): void {
  mock.timers.enable({ apis: ['setInterval'] });
  t.teardown(() => {
    mock.timers.reset();
  });
}

const HOUR_MS = 60 * 60 * 1000;
const turns = async (): Promise<void> => {
  for (let count = 0; count < 100; count++) await new Promise((resolve) => setImmediate(resolve));
};

void t.test(
  'an upload is forgotten a day after its last byte, and no sooner than an hour after a start',
  async (t) => {
    stoppedTimers(t);
    const folder = join(t.testdir(), 'uploads');
    const clock = new TestClock();
    const old = recordOf(100, { started_at: 0 });
    const recent = recordOf(100, { started_at: 0 });
    const landed = recordOf(100, { started_at: 0, finished_at: clock.day - DAY_MS - 1000 });
    for (const record of [old, recent, landed]) partTasks.createPart({ folder, record });
    for (const [record, ageMs] of [
      [old, DAY_MS + 1000],
      [recent, DAY_MS - 2 * HOUR_MS],
    ] as const) {
      const seconds = (clock.day - ageMs) / 1000;
      utimesSync(partPath({ folder, id: record.upload_id }), seconds, seconds);
    }
    const rig = uploadRig(t, { folder, clock });
    await rig.uploads.start();
    clock.pass(HOUR_MS - 1);
    await turns();
    t.equal(rig.uploads.list().length, 2, 'the time of day may have been wrong');
    clock.pass(1);
    await eventually('the old ones have gone', () => (readdirSync(folder).length === 2 ? true : undefined));
    t.same(readdirSync(folder).sort(), [`${recent.upload_id}.json`, `${recent.upload_id}.part`]);
    await toldEverything();
    t.match(rig.events, [{ action: 'upload.deleted', event: { upload_id: old.upload_id } }]);
    t.equal(rig.events.length, 1, 'of what has landed nothing has gone');
    clock.pass(HOUR_MS + 1000);
    await eventually('so has the other', () => (readdirSync(folder).length === 0 ? true : undefined));
  },
);

void t.test('a time of day that is set takes nothing away', async (t) => {
  stoppedTimers(t);
  const clock = new TestClock();
  const rig = uploadRig(t, { clock });
  await rig.uploads.start();
  const upload = await rig.uploads.create(wishOf(100), SentBody.of(CONTENT.subarray(0, 60)));
  for (const step of [25 * HOUR_MS, -50 * HOUR_MS, 1000 * HOUR_MS]) {
    clock.day += step;
    clock.look();
    await turns();
    t.equal(rig.uploads.find(upload.id).received, 60, `${step / HOUR_MS} hours`);
    t.equal(upload.expiresAt, clock.day + DAY_MS, 'and its end is told by the clock that there is');
  }
  const later = uploadRig(t, { folder: rig.folder, clock });
  await later.uploads.start();
  clock.pass(HOUR_MS - 1);
  await turns();
  t.equal(later.uploads.find(upload.id).received, 60, 'nor does a start at another time');
  clock.pass(DAY_MS);
  await eventually('a day ends it', () => (readdirSync(rig.folder).length === 0 ? true : undefined));
  t.throws(() => later.uploads.find(upload.id), { status: 404, message: /./ });
});

void t.test('an upload whose part was taken away is none', async (t) => {
  const folder = join(t.testdir(), 'uploads');
  const before = uploadRig(t, { folder });
  const there = await before.uploads.create(wishOf(100), SentBody.of(CONTENT.subarray(0, 60)));
  rmSync(partPath({ folder, id: there.id }));
  await t.rejects(there.settle(), { status: 404, message: /./ });
  t.match(before.warnings, [{ upload: there.id, size: 100 }]);
  const asked = await before.uploads.create(wishOf(100), SentBody.of(CONTENT.subarray(0, 60)));
  const unasked = await before.uploads.create(wishOf(100));
  const landing = await before.uploads.create(wishOf(100));
  const record = recordOf(100, { upload_id: landing.id, landing: true });
  partTasks.writeRecord({ folder, record });
  for (const { id } of [asked, unasked, landing]) rmSync(partPath({ folder, id }));

  const rig = uploadRig(t, { folder });
  await rig.uploads.start();
  await t.rejects(rig.uploads.find(asked.id).settle(), { status: 404, message: /./ });
  await eventually('the others are looked at', () => (rig.uploads.list().length === 0 ? true : undefined));
  t.throws(() => rig.uploads.find(unasked.id), { status: 404, message: /./ });
  t.match(rig.warnings, [{ upload: asked.id }, { upload: unasked.id }]);
  t.match(
    rig.uploads.find(landing.id),
    { state: 'finished', received: 100 },
    'one that was landing has landed',
  );
  t.same(readdirSync(folder), [`${landing.id}.json`]);
  t.notOk(existsSync(rig.target));
});
