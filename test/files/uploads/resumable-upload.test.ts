/** One upload: its requests, its end, and what is left when they go wrong. */
import { partPath } from '../../../src/files/uploads/upload-request.js';
import { createHash } from 'node:crypto';
import { existsSync, readFileSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import t from 'tap';
import { refusals } from '../../../src/base/errors/errors.js';
import { partTasks } from '../../../src/files/uploads/part-tasks.js';
import type { ResumableUpload } from '../../../src/files/uploads/resumable-upload.js';
import { RandomBytes } from '../../support/random.js';
import {
  hashOf,
  SentBody,
  toldEverything,
  uploadRig,
  wishOf,
  type UploadRig,
} from '../../support/upload-rig.js';

const CONTENT = new RandomBytes(1).next(100);
const sha256 = createHash('sha256').update(CONTENT).digest('hex');
const part = (rig: UploadRig, { id }: ResumableUpload): string => partPath({ folder: rig.folder, id });

void t.test('bytes come in several requests, and land with the last', async (t) => {
  const rig = uploadRig(t);
  const upload = await rig.uploads.create(wishOf(100));
  t.match(upload, { state: 'waiting', received: 0, size: 100 });
  await upload.append(0, SentBody.of(CONTENT.subarray(0, 40)));
  t.match(upload, { state: 'waiting', received: 40 });
  await upload.append(40, SentBody.of(CONTENT.subarray(40), false));
  t.match(upload, { state: 'finished', received: 100 });
  t.ok(readFileSync(rig.target).equals(CONTENT));
  t.same(rig.landed, [{ size: 100, digests: {} }], 'nobody has asked for digests');
  t.notOk(existsSync(part(rig, upload)));
  await upload.settle();
  await upload.append(100, SentBody.of(new Uint8Array()));
  t.equal(rig.landed.length, 1, 'it lands once');
  await t.rejects(upload.append(100, SentBody.of(CONTENT)), { status: 413, message: /./ });
});

void t.test('its place is held while bytes come, whatever becomes of them', async (t) => {
  const rig = uploadRig(t);
  const upload = await rig.uploads.create(wishOf(100));
  t.equal(rig.holds, 0);
  const body = SentBody.of(CONTENT.subarray(0, 40));
  const appended = upload.append(0, {
    length: body.length,
    throttle: body.throttle,
    client: '',
    into: (sink, failure) => {
      t.equal(rig.holds, 1);
      return body.into(sink, failure);
    },
  });
  await appended;
  t.equal(rig.holds, 0);
  await t.rejects(upload.append(40, SentBody.of(Buffer.alloc(100))), { status: 413, message: /./ });
  t.equal(rig.holds, 0);
});

void t.test('content that comes at once is digested beside the write', async (t) => {
  const rig = uploadRig(t);
  const md5 = hashOf('md5', CONTENT);
  const upload = await rig.uploads.create(wishOf(100, { digests: { md5, 'sha-256': sha256 } }));
  await upload.append(0, SentBody.of(CONTENT));
  t.same(rig.landed, [{ size: 100, digests: { md5, 'sha-256': sha256 } }]);
  t.notOk(rig.tasks.includes('digestPart'));
});

void t.test(
  'content that comes in pieces is digested before it lands, when a digest was promised',
  async (t) => {
    const rig = uploadRig(t);
    const upload = await rig.uploads.create(wishOf(100, { digests: { 'sha-256': sha256 } }));
    await upload.append(0, SentBody.of(CONTENT.subarray(0, 99)));
    await upload.append(99, SentBody.of(CONTENT.subarray(99)));
    t.ok(rig.tasks.includes('digestPart'));
    t.same(rig.landed, [{ size: 100, digests: { 'sha-256': sha256 } }]);
  },
);

void t.test('another content than was promised lands nowhere, and is dropped', async (t) => {
  for (const pieces of [1, 2]) {
    const rig = uploadRig(t);
    const upload = await rig.uploads.create(wishOf(100, { digests: { 'sha-256': sha256 } }));
    const wrong = Buffer.from(CONTENT);
    wrong[50] = (wrong[50] ?? 0) ^ 1;
    if (pieces === 2) await upload.append(0, SentBody.of(wrong.subarray(0, 60)));
    await t.rejects(upload.append(upload.received, SentBody.of(wrong.subarray(upload.received))), {
      status: 460,
      message: /sha-256/,
    });
    t.notOk(existsSync(rig.target));
    t.same(readdirSync(rig.folder), []);
    t.throws(() => rig.uploads.find(upload.id), { status: 404, message: /./ });
    await t.rejects(upload.settle(), { status: 404, message: /./ });
    await toldEverything();
    t.match(rig.events.at(-1), { action: 'upload.deleted' });
  }
});

void t.test('the digests that its owner wants go on from one request to the next', async (t) => {
  const rig = uploadRig(t, { digests: ['md5'] });
  const md5 = hashOf('md5', CONTENT);
  const upload = await rig.uploads.create(wishOf(100));
  const checksum = { digest: 'sha-256', hex: hashOf('sha-256', CONTENT.subarray(40)) } as const;
  await upload.append(0, SentBody.of(CONTENT.subarray(0, 40)));
  await upload.append(40, SentBody.of(CONTENT.subarray(40)), checksum);
  t.same(rig.landed, [{ size: 100, digests: { md5 } }], 'a checksum is that of the last request');
  t.notOk(rig.tasks.includes('digestPart'));
});

void t.test('a digest that was used for a checksum is that of the whole when it lands', async (t) => {
  const rig = uploadRig(t, { digests: ['md5'] });
  const upload = await rig.uploads.create(wishOf(100));
  const checksum = { digest: 'md5', hex: hashOf('md5', CONTENT.subarray(40)) } as const;
  await upload.append(0, SentBody.of(CONTENT.subarray(0, 40)));
  await upload.append(40, SentBody.of(CONTENT.subarray(40)), checksum);
  t.same(rig.landed, [{ size: 100, digests: { md5: hashOf('md5', CONTENT) } }]);
  t.ok(rig.tasks.includes('digestPart'), 'it was read');
});

void t.test('a request whose bytes are not those of its checksum takes them away again', async (t) => {
  const rig = uploadRig(t);
  const upload = await rig.uploads.create(wishOf(100));
  await upload.append(0, SentBody.of(CONTENT.subarray(0, 30)));
  const right = { digest: 'md5', hex: hashOf('md5', CONTENT.subarray(30, 60)) } as const;
  await t.rejects(upload.append(30, SentBody.of(CONTENT.subarray(31, 61)), right), {
    status: 460,
    message: /./,
  });
  t.equal(upload.received, 30);
  t.ok(readFileSync(part(rig, upload)).equals(CONTENT.subarray(0, 30)));
  await upload.append(30, SentBody.of(CONTENT.subarray(30, 60)), right);
  t.equal(upload.received, 60);
});

void t.test('more than was declared is not kept, whether it is told before or not', async (t) => {
  const rig = uploadRig(t);
  const upload = await rig.uploads.create(wishOf(50));
  await upload.append(0, SentBody.of(CONTENT.subarray(0, 30)));
  for (const isDeclared of [true, false]) {
    await t.rejects(upload.append(30, SentBody.of(CONTENT.subarray(30), isDeclared)), {
      status: 413,
      message: /./,
    });
    t.equal(upload.received, 30);
    t.ok(readFileSync(part(rig, upload)).equals(CONTENT.subarray(0, 30)));
  }
  t.equal(rig.appended.length, 2, 'what is declared too long is not even begun');
});

void t.test('an offset that is not ours is refused', async (t) => {
  const upload = await uploadRig(t).uploads.create(wishOf(50));
  await upload.append(0, SentBody.of(CONTENT.subarray(0, 30)));
  for (const offset of [0, 29, 31, 50])
    await t.rejects(upload.append(offset, SentBody.of(new Uint8Array(1))), { status: 409, message: /30/ });
});

void t.test('a client that goes away leaves exactly what has arrived', async (t) => {
  const rig = uploadRig(t);
  const upload = await rig.uploads.create(wishOf(100));
  const body = new SentBody(100);
  const appending = upload.append(0, body);
  await body.taken;
  body.send(CONTENT.subarray(0, 77));
  t.match(upload, { state: 'receiving', received: 77 });
  body.vanish();
  await t.rejects(appending, { message: 'the client went away' });
  t.match(upload, { state: 'waiting', received: 77 });
  t.ok(readFileSync(part(rig, upload)).equals(CONTENT.subarray(0, 77)));
});

void t.test('a new request takes the upload over from one that is sending', async (t) => {
  const rig = uploadRig(t);
  const upload = await rig.uploads.create(wishOf(100));
  const slow = new SentBody(100);
  const first = upload.append(0, slow);
  await slow.taken;
  slow.send(CONTENT.subarray(0, 10));
  const settled = upload.settle();
  await t.rejects(first, { status: 409, message: /./ });
  await settled;
  t.equal(upload.received, 10, 'what it has sent is there');
  slow.send(CONTENT.subarray(10, 20));
  t.equal(upload.received, 10, 'and nothing more of it');

  const second = new SentBody(90);
  const appending = upload.append(10, second);
  await second.taken;
  second.send(CONTENT.subarray(10, 20));
  const third = upload.append(20, SentBody.of(CONTENT.subarray(20)));
  await t.rejects(appending, { status: 409, message: /./ });
  await third;
  t.ok(readFileSync(rig.target).equals(CONTENT));
});

void t.test('an upload is given up while it is being sent', async (t) => {
  const rig = uploadRig(t);
  const upload = await rig.uploads.create(wishOf(100));
  const body = new SentBody(100);
  const appending = upload.append(0, body);
  await body.taken;
  body.send(CONTENT.subarray(0, 10));
  const removed = upload.remove();
  await t.rejects(appending, { status: 409, message: /./ });
  await removed;
  t.same(readdirSync(rig.folder), []);
  await t.rejects(upload.append(0, SentBody.of(CONTENT)), { status: 404, message: /./ });
  await t.rejects(upload.remove(), { status: 404, message: /./ });
});

void t.test(
  'a disk that takes no more ends the request; the upload goes on from what was written',
  async (t) => {
    const rig = uploadRig(t);
    const upload = await rig.uploads.create(wishOf(100));
    const body = new SentBody(100);
    const appending = upload.append(0, body);
    await body.taken;
    body.send(CONTENT.subarray(0, 10));
    rig.appended[0]?.fail(refusals.diskFull());
    await t.rejects(appending, { status: 507, message: /./ });
    t.equal(upload.received, 10);
    await upload.append(10, SentBody.of(CONTENT.subarray(10)));
    t.ok(readFileSync(rig.target).equals(CONTENT));
  },
);

void t.test('an upload that cannot land is kept, and tried again by whoever asks', async (t) => {
  const rig = uploadRig(t);
  const upload = await rig.uploads.create(wishOf(100));
  rig.refuse = refusals.diskFull();
  await t.rejects(upload.append(0, SentBody.of(CONTENT)), { status: 507, message: /./ });
  t.match(upload, { state: 'waiting', received: 100 });
  await t.rejects(upload.settle(), { status: 507, message: /./ });
  rig.refuse = undefined;
  await upload.settle();
  t.equal(upload.state, 'finished');
  t.ok(readFileSync(rig.target).equals(CONTENT));
});

void t.test('a landing stays when its end cannot be noted', async (t) => {
  let isFull = true;
  const folder = join(t.testdir(), 'uploads');
  const disk = {
    ...partTasks,
    writeRecord: (input: Parameters<typeof partTasks.writeRecord>[0]) => {
      if (input.record.finished_at !== null || isFull) throw refusals.diskFull();
      partTasks.writeRecord(input);
    },
  };
  const rig = uploadRig(t, { folder, disk });
  const upload = await rig.uploads.create(wishOf(100));
  await t.rejects(upload.append(0, SentBody.of(CONTENT)), { status: 507, message: /./ });
  t.notOk(existsSync(rig.target), 'it does not land before the record says that it may have');
  isFull = false;
  await upload.settle();
  t.equal(upload.state, 'finished');

  const later = uploadRig(t, { folder });
  await later.uploads.start();
  await later.uploads.find(upload.id).settle();
  t.match(later.uploads.find(upload.id), { state: 'finished', received: 100 });
  t.same(later.landed, [], 'the part has gone: it has landed in an earlier life');
});
