/** Uploads into new files, and into files that are continued. */
import { chmodSync, mkdirSync, readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import t from 'tap';
import { refusals } from '../../../src/base/errors/errors.js';
import type { Content, Landed } from '../../../src/files/transfer/landing.js';
import { folderLanding } from '../../../src/files/transfer/landing.js';
import { LiveTransfers } from '../../support/live-transfers.js';
import { RandomBytes } from '../../support/random.js';
import { hashOf } from '../../support/upload-rig.js';

const BYTES = new RandomBytes(1).next(1_000_003);

void t.test('a new file lands when it is complete, and not before', async (t) => {
  const live = new LiveTransfers(t, { isSynced: true });
  const landed: Landed[] = [];
  const wanted: Content[] = [];
  const { upload, send } = live.begin(
    'a.bin',
    { size: BYTES.length, digests: ['md5', 'sha-512', 'sha-256'] },
    {
      mode: 0o755,
      landed: (what) => landed.push(what),
      twinOf: (content) => {
        wanted.push(content);
        return undefined;
      },
    },
  );
  t.same([...live.transfers.running], [upload]);
  await send(BYTES);
  t.equal(upload.received, BYTES.length);
  const content = await upload.finish();
  const digests = {
    md5: hashOf('md5', BYTES),
    'sha-256': hashOf('sha-256', BYTES),
    'sha-512': hashOf('sha-512', BYTES),
  };
  t.same(content, { size: BYTES.length, digests });
  t.same(readdirSync(live.root), ['tmp'], 'it has no name yet');
  t.same(landed, []);
  const result = await upload.land();
  t.same(landed, [result]);
  t.same(wanted, [content], 'somebody was asked for a twin');
  t.same(result, { ...content, isUnchanged: false, version: result.version });
  t.ok(live.content('a.bin').equals(BYTES));
  t.equal(statSync(join(live.root, 'a.bin')).mode & 0o777, 0o755);
  t.same(live.told, ['began a.bin', 'landed a.bin']);
  t.equal(live.transfers.running.size, 0);
  t.same(live.unfinished, []);
  await t.rejects(upload.land(), /nothing to land/);
});

void t.test('the same content again writes nothing; a change of its permissions does', async (t) => {
  const live = new LiveTransfers(t);
  const path = join(live.root, 'a');
  const again = async (mode = 0o644): Promise<Landed> => {
    const { upload, send } = live.begin('a', { size: BYTES.length }, { mode });
    await send(BYTES);
    await upload.finish();
    return upload.land();
  };
  const first = await again();
  t.notOk(first.isUnchanged);
  const found = statSync(path, { bigint: true });
  t.same(await again(), { ...first, isUnchanged: true });
  const after = statSync(path, { bigint: true });
  t.same([after.ino, after.mtimeNs], [found.ino, found.mtimeNs]);
  t.notOk((await again(0o755)).isUnchanged);
  t.equal(statSync(path).mode & 0o777, 0o755);
  chmodSync(path, 0o600);
  t.notOk((await again()).isUnchanged);
  t.same(live.unfinished, []);
  t.equal(live.slabs.taken, 0);
});

void t.test('a dropped upload leaves nothing, whenever it is dropped', async (t) => {
  const live = new LiveTransfers(t);
  const early = live.begin('a');
  await early.upload.drop();
  const halfway = live.begin('a');
  await halfway.send(BYTES);
  await halfway.upload.drop();
  await halfway.upload.drop();
  const finished = live.begin('a');
  await finished.send(BYTES);
  await finished.upload.finish();
  t.equal(live.unfinished.length, 1);
  await finished.upload.drop();
  await t.rejects(finished.upload.land(), /nothing to land/);
  t.same(live.unfinished, []);
  t.same(readdirSync(live.root), ['tmp']);
  t.same(live.told, Array(3).fill(['began a', 'dropped a']).flat());
  t.equal(live.slabs.taken, 0);
});

void t.test('an upload that cannot begin, or cannot land, is reported and leaves nothing', async (t) => {
  const live = new LiveTransfers(t);
  mkdirSync(join(live.root, 'folder'));
  const refused = live.begin('folder');
  await t.rejects(refused.upload.failure, refusals.isDirectory('folder'));
  await t.rejects(refused.upload.finish(), refusals.isDirectory('folder'));
  await refused.upload.drop();
  const late = live.begin('late');
  await late.send(BYTES);
  await late.upload.finish();
  mkdirSync(join(live.root, 'late'));
  await t.rejects(late.upload.land(), refusals.isDirectory('late'));
  t.same(live.unfinished, []);
  t.same(live.told, ['began folder', 'dropped folder', 'began late', 'dropped late']);
  t.equal(live.slabs.taken, 0);
});

void t.test('a file that is continued keeps what came', async (t) => {
  const live = new LiveTransfers(t);
  const part = join(live.root, 'part');
  writeFileSync(part, '0123456789');
  const first = live.append(part, 5, ['sha']);
  await first.send(BYTES);
  await first.upload.drop();
  t.ok(readFileSync(part).equals(Buffer.concat([Buffer.from('01234'), BYTES])));
  const second = live.append(part, 5 + BYTES.length, ['sha']);
  await second.send(Buffer.from('end'));
  t.same(await second.upload.finish(), { size: 3, digests: { sha: hashOf('sha', Buffer.from('end')) } });
  await t.rejects(second.upload.land(), /nothing to land/);
  const missing = live.append(join(live.root, 'missing'), 0);
  await t.rejects(missing.upload.failure, { name: 'Refusal' });
  await missing.upload.drop();
  t.match(live.told, [/^began/, /^dropped/, /^began/, /^landed/, /^began/, /^dropped/]);
  const whole = Buffer.concat([Buffer.from('01234'), BYTES, Buffer.from('end')]);
  const content = { size: whole.length, digests: {} };
  const seen: Landed[] = [];
  const landed = await live.transfers.place(
    part,
    live.landing('sub/a', { makesFolders: true, landed: (what) => seen.push(what) }),
    content,
  );
  t.same(seen, [landed]);
  t.ok(live.content('sub/a').equals(whole));
  t.same(readdirSync(live.root).sort(), ['sub', 'tmp']);
  t.equal(live.slabs.taken, 0);
});

void t.test('a landing in a folder of ours has its own place for what is on its way', (t) => {
  const subject = { symbol: 'a.svg' };
  t.match(folderLanding('/data/symbols', 'a.svg', subject), {
    root: '/data/symbols',
    temporary: join('/data/symbols', 'tmp'),
    makesFolders: false,
    mode: 0o644,
    subject,
  });
  t.equal(folderLanding('/data', 'a/b', subject, true).makesFolders, true);
  t.end();
});
