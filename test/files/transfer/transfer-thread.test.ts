/** A loop in a thread that dies, hangs, or has nothing to do. */
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import t from 'tap';
import { PAGE_LENGTH } from '../../../src/base/memory/transfer-memory.js';
import { eventually } from '../../support/eventually.js';
import { heldChecks } from '../../support/held-checks.js';
import { FAULTY_TRANSFER_WORKER, LiveTransfers, type Sending } from '../../support/live-transfers.js';
import { descriptorsOf } from '../../support/open-descriptors.js';
import { RandomBytes } from '../../support/random.js';
import type { Teardown } from '../../support/scratch.js';
import { TRANSFER_FAULT } from '../../support/transfer-faults.js';
import { hashOf } from '../../support/upload-rig.js';

const faulty = (t: Teardown): LiveTransfers => new LiveTransfers(t, { worker: FAULTY_TRANSFER_WORKER });
const ownDescriptors = (): string[] => descriptorsOf({ child: { pid: process.pid } } as never);

/** A whole page: less waits for more. */
const fatalBytes = (fault: string): Buffer => Buffer.from(fault.padEnd(PAGE_LENGTH));

async function landed({ upload, send }: Sending, bytes: Uint8Array): Promise<void> {
  await send(bytes);
  await upload.finish();
  await upload.land();
}

void t.test(
  'uploads that a thread dies with are lost, and told so; the next one is none of them',
  async (t) => {
    const live = faulty(t);
    const bytes = new RandomBytes(1).next(2_000_000);
    await landed(live.begin('first'), bytes);
    const before = ownDescriptors().filter((target) => target.startsWith(live.root));
    t.same(before, []);

    const others = ['a', 'b'].map((path) => live.begin(path));
    for (const { send } of others) await send(bytes);
    const fatal = live.begin('c');
    const reasons = [fatal, ...others].map(({ upload }) =>
      t.rejects(upload.failure, /^The upload was lost, because the thread .* ended/),
    );
    await eventually('all have begun', () => (live.unfinished.length === 3 ? true : undefined));
    await fatal.send(fatalBytes(TRANSFER_FAULT.exit));
    await Promise.all(reasons);
    t.equal(live.slabs.taken, 0, 'every slab is back');
    for (const { upload } of others) await t.rejects(upload.finish(), /^The upload was lost/);
    for (const { upload } of [fatal, ...others]) await upload.drop();
    t.same(live.unfinished, [], 'nothing is left');
    const open = ownDescriptors().filter((target) => target.startsWith(live.root));
    t.same(open, [], 'no file is open');
    t.equal(live.transfers.running.size, 0);

    await landed(live.begin('next'), bytes);
    t.ok(live.content('next').equals(bytes));
    t.ok(live.content('first').equals(bytes));
    t.match(live.log, [
      /"uploads":3.*a thread that writes uploads died/,
      /"uploads":3.*a thread that writes uploads was restarted/,
    ]);
    await live.allGivenBack();
  },
);

void t.test('a thread that dies while the disk writes leaves no file open', async (t) => {
  const live = faulty(t);
  const bytes = new RandomBytes(3).next(6_000_000);
  const part = join(live.root, 'part');
  writeFileSync(part, '');
  const all = [
    live.begin('a', { size: bytes.length }),
    live.begin('b', { size: bytes.length }),
    live.append(part, 0),
  ];
  for (const { send } of all) await send(bytes.subarray(0, 5_000_000));
  const fatal = live.begin('c');
  const lost = [fatal, ...all].map(({ upload }) => t.rejects(upload.failure, /^The upload was lost/));
  await fatal.send(fatalBytes(TRANSFER_FAULT.exit));
  await Promise.all(lost);
  for (const { upload } of [fatal, ...all]) await upload.drop();
  t.same(live.unfinished, []);
  const open = ownDescriptors().filter((target) => target.startsWith(live.root));
  t.same(open, [], 'what is open takes its room on the disk');
  t.equal(live.slabs.taken, 0);
});

void t.test('a transfer that begins while there is no thread waits for the next', async (t) => {
  const live = faulty(t);
  const fatal = live.begin('a');
  const failed = fatal.upload.failure.catch(() => undefined);
  await fatal.send(fatalBytes(TRANSFER_FAULT.exit));
  await failed;
  const bytes = new RandomBytes(2).next(1_500_000);
  await Promise.all(['b', 'c'].map((path) => landed(live.begin(path), bytes)));
  t.ok(live.content('b').equals(bytes));
  t.ok(live.content('c').equals(bytes));
  await fatal.upload.drop();
  t.same(live.unfinished, []);
  await live.allGivenBack();
});

void t.test('a loop of which no upload sends anything is left alone; one that hangs is ended', async (t) => {
  const check = heldChecks(t);
  const quiet = new LiveTransfers(t);
  const slow = quiet.begin('slow');
  await slow.send(Buffer.alloc(PAGE_LENGTH, 'a'));
  const hanging = faulty(t);
  const fatal = hanging.begin('a');
  const ended = t.rejects(fatal.upload.failure, /^The upload was lost/);
  await fatal.send(fatalBytes(TRANSFER_FAULT.spin));
  await eventually('it is ended', () => {
    check();
    return hanging.log.length > 0 ? true : undefined;
  });
  await ended;
  for (let checks = 0; checks < 40; checks++) check();
  await slow.send(Buffer.from('b'));
  await slow.upload.finish();
  await slow.upload.land();
  t.equal(quiet.content('slow').toString(), `${'a'.repeat(PAGE_LENGTH)}b`);
  t.same(quiet.log, []);
  t.match(hanging.log, [/died/, /restarted/]);
  await fatal.upload.drop();
  t.same(hanging.unfinished, []);
  await hanging.allGivenBack();
});

void t.test('uploads that a digesting thread dies with are lost, and the others go on', async (t) => {
  const live = faulty(t);
  const bytes = new RandomBytes(4).next(3_000_000);
  const part = join(live.root, 'part');
  writeFileSync(part, '');
  const digests = ['md5'] as const;
  const other = live.begin('other');
  await other.send(bytes.subarray(0, 1_000_000));
  const continued = live.append(part, 0, digests);
  await continued.send(bytes);
  const fatal = live.begin('fatal', { digests });
  const reasons = [continued, fatal].map(({ upload }) =>
    t.rejects(upload.failure, /^The upload was lost, because the thread .* ended/),
  );
  await fatal.send(fatalBytes(TRANSFER_FAULT.exitBeside));
  await Promise.all(reasons);
  for (const { upload } of [continued, fatal]) await upload.drop();
  t.equal(live.unfinished.length, 1, 'the file of the other is there');
  t.ok(live.content('part').equals(bytes), 'a part keeps what has come');
  await landed(other, bytes.subarray(1_000_000));
  t.ok(live.content('other').equals(bytes));
  const next = live.begin('next', { digests });
  await next.send(bytes);
  t.match((await next.upload.finish()).digests, { md5: hashOf('md5', bytes) });
  await next.upload.land();
  await live.allGivenBack();
  t.match(live.log, [/"uploads":2.*a thread that digests uploads died/, /restarted/]);
});
