/** The uploads of one loop, through its tasks and its rings; what the thread would do is done here. */
import { closeSync, fstatSync, mkdirSync, readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import t from 'tap';
import { SLAB_LENGTH } from '../../../src/base/memory/transfer-memory.js';
import { Random, RandomBytes } from '../../support/random.js';
import { NO_MOUNT, smallDisk } from '../../support/small-disk.js';
import { FILE_MODE, TransferLoopRig, writtenOctets } from '../../support/transfer-loop-rig.js';
import { hashOf } from '../../support/upload-rig.js';

void t.test('streams that come in pieces, all at once, are files', (t) => {
  const rig = new TransferLoopRig(t);
  const random = new Random(7);
  const contents = Array.from({ length: 8 }, (_, stream) =>
    new RandomBytes(stream).next(random.below(6 * SLAB_LENGTH)),
  );
  const files = contents.map((_, stream) => rig.begin(stream, `${stream}`));
  const sent = contents.map(() => 0);
  const left = new Set(contents.keys());
  while (left.size > 0) {
    const stream = random.pick([...left]);
    const [content, start] = [contents[stream] ?? Buffer.alloc(0), sent[stream] ?? 0];
    const end = Math.min(content.length, start + 1 + random.below(SLAB_LENGTH));
    rig.send(stream, content.subarray(start, end));
    sent[stream] = end;
    if (end === content.length) left.delete(stream);
    if (random.chance(0.3)) rig.loop.round(performance.now());
    if (random.chance(0.3)) rig.takeBack();
  }
  for (const [stream, content] of contents.entries()) {
    const { content: written, unchanged } = rig.loop.tasks.finish({ stream });
    t.same(written, { size: content.length, digests: { 'sha-256': hashOf('sha-256', content) } });
    t.equal(unchanged, undefined);
    const file = files[stream];
    t.ok(readFileSync(file?.temporary ?? '').equals(content));
    closeSync(file?.fd ?? -1);
  }
  t.equal(rig.out, 0, 'every slab came back');
  t.equal(rig.unfinished.length, contents.length, 'what is finished is left to whoever lands it');
  t.end();
});

void t.test('no stream holds up another', (t) => {
  const rig = new TransferLoopRig(t);
  for (const stream of [1, 2]) rig.begin(stream, `${stream}`);
  rig.send(1, new RandomBytes(1).next(40 * SLAB_LENGTH));
  rig.send(2, Buffer.from('a little'));
  rig.work();
  rig.takeBack();
  const place = rig.back.findIndex(([stream]) => stream === 2);
  t.ok(place > 0 && place <= 4, `it is slab ${place}`);
  t.equal(rig.out, 0);
  t.end();
});

void t.test('slabs may come before their order', (t) => {
  const rig = new TransferLoopRig(t);
  rig.send(3, Buffer.from('early '));
  t.equal(rig.loop.round(performance.now()), Infinity);
  t.equal(rig.out, 1, 'they wait');
  const { fd, temporary } = rig.begin(3, 'a');
  rig.send(3, Buffer.from('and late'));
  rig.work();
  t.equal(rig.loop.tasks.finish({ stream: 3 }).content.size, 14);
  t.equal(readFileSync(temporary, 'utf8'), 'early and late');
  t.equal(rig.out, 0);
  closeSync(fd);
  t.end();
});

void t.test('a stream whose beginning was refused gives back what came', (t) => {
  const rig = new TransferLoopRig(t);
  mkdirSync(join(rig.folder, 'taken'));
  rig.send(4, Buffer.from('early'));
  t.throws(() => rig.begin(4, 'taken'));
  rig.send(4, Buffer.from('late'));
  rig.work();
  rig.loop.tasks.drop({ stream: 4 });
  t.equal(rig.out, 0);
  t.same(rig.unfinished, []);
  rig.send(4, Buffer.from('again'));
  t.throws(() => rig.loop.tasks.finish({ stream: 4 }), /no such upload/);
  t.equal(rig.out, 0);
  const { fd } = rig.begin(4, 'another');
  t.equal(rig.loop.tasks.finish({ stream: 4 }).content.size, 0, 'and what it is called is free');
  closeSync(fd);
  t.end();
});

void t.test('a stream that cannot be written is reported once, and the others go on', (t) => {
  const disk = smallDisk(t, 600);
  if (disk === undefined) {
    t.pass(`# SKIP ${NO_MOUNT}`);
    t.end();
    return;
  }
  const rig = new TransferLoopRig(t);
  rig.begin(1, 'a', { root: disk });
  const { fd, temporary } = rig.begin(2, 'b');
  const content = new RandomBytes(2).next(8 * SLAB_LENGTH);
  rig.send(1, content);
  rig.send(2, content);
  rig.work();
  rig.send(1, content);
  rig.work();
  t.equal(rig.out, 0, 'its slabs are given back all the same');
  const troubles = rig.reports.filter(({ kind }) => kind === 'trouble');
  t.equal(troubles.length, 1);
  t.match(troubles, [{ stream: 1, failure: { status: 507 } }]);
  t.throws(() => rig.loop.tasks.finish({ stream: 1 }), { status: 507, message: /No space left/ });
  t.same(readdirSync(join(disk, 'tmp')), [], 'nothing of it is left');
  t.equal(rig.loop.tasks.finish({ stream: 2 }).content.digests['sha-256'], hashOf('sha-256', content));
  t.ok(readFileSync(temporary).equals(content));
  closeSync(fd);
  t.end();
});

void t.test('slabs that are done are told of once, until somebody has looked', (t) => {
  const rig = new TransferLoopRig(t);
  rig.begin(1, 'a');
  const told = (): number => rig.reports.filter(({ kind }) => kind === 'done').length;
  for (let count = 0; count < 3; count++) {
    rig.send(1, Buffer.from('x'));
    rig.work();
  }
  t.equal(told(), 1);
  rig.takeBack();
  rig.send(1, Buffer.from('x'));
  rig.work();
  t.equal(told(), 2);
  t.equal(rig.out, 0);
  t.end();
});

void t.test('a new file that is dropped is gone, and nothing more of it is written', (t) => {
  const rig = new TransferLoopRig(t);
  const content = new RandomBytes(3).next(24 * SLAB_LENGTH);
  const other = Buffer.from(content);
  other[content.length - 1] = (other.at(-1) ?? 0) ^ 1;
  writeFileSync(join(rig.folder, 'a'), other, { mode: FILE_MODE });
  const { fd, temporary } = rig.begin(1, 'a', { size: content.length });
  rig.send(1, content);
  const before = writtenOctets();
  rig.loop.tasks.drop({ stream: 1 });
  t.ok(writtenOctets() - before < SLAB_LENGTH);
  t.throws(() => fstatSync(fd), { code: 'EBADF' });
  t.throws(() => statSync(temporary), { code: 'ENOENT' });
  t.equal(rig.out, 0);
  t.ok(readFileSync(join(rig.folder, 'a')).equals(other));
  rig.loop.tasks.drop({ stream: 1 });
  t.end();
});

void t.test('a file that is continued keeps what has come, and loses what is behind', (t) => {
  const rig = new TransferLoopRig(t);
  const path = join(rig.folder, 'part');
  writeFileSync(path, '0123456789');
  rig.append(1, path, 4);
  t.equal(readFileSync(path, 'utf8'), '0123');
  rig.send(1, Buffer.from('abc'));
  rig.loop.tasks.drop({ stream: 1 });
  t.equal(readFileSync(path, 'utf8'), '0123abc');
  rig.append(1, path, 7);
  rig.send(1, Buffer.from('def'));
  t.same(rig.loop.tasks.finish({ stream: 1 }), {
    content: { size: 3, digests: { sha: hashOf('sha', Buffer.from('def')) } },
    unchanged: undefined,
  });
  t.equal(readFileSync(path, 'utf8'), '0123abcdef');
  t.throws(() => {
    rig.append(1, path, 11);
  }, /a part of this upload is missing/);
  t.throws(() => {
    rig.append(1, join(rig.folder, 'missing'), 0);
  });
  t.equal(readFileSync(path, 'utf8'), '0123abcdef');
  t.equal(rig.out, 0);
  t.end();
});

void t.test('the same content again leaves the file as it is', (t) => {
  const rig = new TransferLoopRig(t);
  const content = new RandomBytes(4).next(2 * SLAB_LENGTH + 1);
  writeFileSync(join(rig.folder, 'a'), content, { mode: FILE_MODE });
  const { fd, temporary } = rig.begin(1, 'a', { size: content.length });
  rig.send(1, content);
  rig.work();
  t.match(rig.loop.tasks.finish({ stream: 1 }), {
    unchanged: /^[0-9a-z-]+$/,
    content: { size: content.length },
  });
  t.equal(statSync(temporary).size, 0);
  closeSync(fd);
  t.end();
});

void t.test('a loop that ends leaves nothing unfinished', (t) => {
  const rig = new TransferLoopRig(t);
  for (const stream of [1, 2, 3]) {
    rig.begin(stream, `${stream}`);
    rig.send(stream, Buffer.from('x'));
  }
  rig.loop.finish();
  t.same(rig.unfinished, []);
  t.equal(rig.out, 0);
  t.end();
});

void t.test('the digest of a part goes on with its next stream, where the last one has ended', (t) => {
  const rig = new TransferLoopRig(t);
  const bytes = new RandomBytes(10).next(700_000);
  const next = (stream: number, position: number, end: number): void => {
    rig.loop.tasks.digest({ stream, digests: ['md5'], part: { path: 'p', position } });
    rig.send(stream, bytes.subarray(position, end));
  };
  const finished = (stream: number): unknown => rig.loop.tasks.finish({ stream }).content;
  next(1, 0, 300_000);
  t.same(finished(1), { size: 300_000, digests: { md5: hashOf('md5', bytes.subarray(0, 300_000)) } });
  next(2, 300_000, 500_000);
  rig.loop.tasks.drop({ stream: 2 });
  next(3, 500_000, 700_000);
  t.same(finished(3), { size: 700_000, digests: { md5: hashOf('md5', bytes) } }, 'with what was broken off');
  next(4, 400_000, 700_000);
  t.strictSame(finished(4), { size: 300_000, digests: {} }, 'bytes have been taken back meanwhile');
  next(5, 700_000, 700_000);
  t.strictSame(finished(5), { size: 0, digests: {} }, 'and it stays unknown');
  t.equal(rig.out, 0);
  t.end();
});

void t.test('a stream may only be digested, beside others', (t) => {
  const rig = new TransferLoopRig(t);
  const bytes = new RandomBytes(9).next(700_000);
  rig.loop.tasks.digest({ stream: 1, digests: ['md5'] });
  rig.send(1, bytes.subarray(0, 300_000));
  rig.work();
  rig.send(1, bytes.subarray(300_000));
  const md5 = hashOf('md5', bytes);
  const content = { size: bytes.length, digests: { md5 } };
  t.same(rig.loop.tasks.finish({ stream: 1 }), { content, unchanged: undefined });
  t.equal(rig.out, 0);
  rig.loop.tasks.digest({ stream: 2, digests: ['md5'] });
  rig.send(2, bytes);
  rig.loop.tasks.drop({ stream: 2 });
  t.equal(rig.out, 0, 'nothing is kept of one that is dropped');
  t.same(readdirSync(rig.folder), []);
  t.end();
});
