import { appendFileSync, mkdirSync, readdirSync, statSync } from 'node:fs';
import { join } from 'node:path';
import t from 'tap';
import { LogReader, LogMemory } from '../../../src/captures/log/log-reader.js';
import type { LogFile } from '../../../src/captures/log/log-file.js';
import { WriterThread } from '../../../src/captures/writing/writer-thread.js';
import { refusals } from '../../../src/base/errors/errors.js';
import { LOG } from '../../../src/base/memory/capture-memory.js';
import { eventually } from '../../support/eventually.js';
import { fastClock, heldChecks } from '../../support/held-checks.js';
import { PaperLives } from '../../support/live-loop.js';
import { PaperLog } from '../../support/paper-log.js';
import { FAULTY_CAPTURE_WORKER, HEADER, LiveWriter } from '../../support/live-writer.js';
import { LogScribe, memoryOf, recordOf, recordsOf, type Format } from '../../support/log-scribe.js';
import { seededRandom } from '../../support/seeded-random.js';
import { fillDisk, NO_MOUNT, smallDisk } from '../../support/small-disk.js';
import { WRITER_FAULT } from '../../support/writer-faults.js';
import { testSupervision } from '../../base/threads/worker-loop.contract.js';

const MOST_KILLS = 3;

const wait = (ms: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, ms));

testSupervision('a writer of captures', (t) => {
  const live = new LiveWriter(t, { worker: FAULTY_CAPTURE_WORKER });
  let files = 0;
  return {
    loop: live.writer,
    log: live.log,
    ask: async () => {
      const file = await live.begin(0, { name: `captures/${++files}.pcap` });
      await file.end();
      file.release();
    },
    askForDeath: () => live.begin(1, { name: `${WRITER_FAULT.exit}/1.pcap` }),
    askToSpin: () => live.begin(1, { name: `${WRITER_FAULT.spin}/1.pcap` }),
  };
});

void t.test(
  'the header is in the file when it is begun, and records follow without being asked for',
  async (t) => {
    const live = new LiveWriter(t);
    const file = await live.begin(0);
    t.ok(live.content(0).equals(HEADER));
    t.equal(live.writer.load, 1);
    const scribe = live.scribe(0);
    scribe.put(recordOf(0));
    await eventually('the record is written', () =>
      live.logAt(0).drained === scribe.head ? true : undefined,
    );
    t.ok(live.content(0).equals(Buffer.concat([HEADER, recordOf(0)])));
    t.equal(file.bytes, live.content(0).length);
    scribe.put(recordOf(1));
    await file.end();
    t.ok(live.content(0).equals(Buffer.concat([HEADER, recordsOf(0, 2)])), 'everything is there at the end');
    t.equal(live.writer.load, 0);
    t.same(live.closed, []);
    file.release();
    t.equal(live.closed.length, 1);
  },
);

void t.test('logs that are written all the time are in their files octet for octet', async (t) => {
  const live = new LiveWriter(t);
  const count = 20_000;
  const files = await Promise.all([0, 1, 2].map((index) => live.begin(index)));
  await Promise.all([0, 1, 2].map((index) => live.write(index, count)));
  await Promise.all(files.map((file) => file.end()));
  const expected = Buffer.concat([HEADER, recordsOf(0, count)]);
  for (const [index, file] of files.entries()) {
    t.ok(live.content(index).equals(expected));
    t.equal(live.logAt(index).counters().dropped, 0);
    file.release();
  }
});

void t.test('a loop that is killed again and again loses nothing and writes nothing twice', async (t) => {
  fastClock(t);
  const live = new LiveWriter(t);
  const random = seededRandom(3);
  const count = 25_000;
  const plain = await live.begin(0);
  const ring = await live.begin(1, { files: 4, fileBytes: 200_000, format: 'pcapng' });
  let left = 2;
  const write = async (index: number, format: Format): Promise<void> => {
    await live.write(index, count, format);
    left--;
  };
  const written = Promise.all([write(0, 'pcap'), write(1, 'pcapng')]);
  for (let kills = 1; left > 0 && kills <= MOST_KILLS; kills++) {
    // At any moment of what it does.
    await wait(30 + random() * 60);
    live.writer.kill();
    await live.restarted(kills);
  }
  await written;
  live.writer.kill();
  await Promise.all([plain.end(), ring.end()]);
  t.ok(live.reasons.length > 2, `it was killed ${live.reasons.length} times`);
  t.equal(live.writer.restarts, live.reasons.length);
  t.same(live.troubles, []);
  t.ok(live.content(0).equals(Buffer.concat([HEADER, recordsOf(0, count)])));
  const all = recordsOf(0, count, 'pcapng');
  const held = Buffer.concat(live.ring(1).map((file) => file.subarray(HEADER.length)));
  t.ok(held.length > 400_000);
  t.ok(all.subarray(-held.length).equals(held));
  plain.release();
  ring.release();
});

void t.test('bytes that a loop wrote and did not report before it died are cut off', async (t) => {
  const live = new LiveWriter(t);
  const file = await live.begin(0);
  live.scribe(0).put(recordOf(0));
  await eventually('the record is written', () => (live.logAt(0).drained > 0 ? true : undefined));
  live.writer.kill();
  appendFileSync(join(live.folder, 'captures', '0.pcap'), 'half a record');
  await live.restarted(1);
  await file.end();
  t.ok(live.content(0).equals(Buffer.concat([HEADER, recordOf(0)])));
  file.release();
});

void t.test('a loop that dies before it has adopted its logs is no trouble of theirs', async (t) => {
  fastClock(t);
  const live = new LiveWriter(t);
  const file = await live.begin(0);
  live.onNextLife = () => {
    if (live.reasons.length < 3) live.writer.kill();
  };
  live.writer.kill();
  live.scribe(0).put(recordOf(0));
  await live.restarted(3);
  await file.end();
  t.same(live.troubles, []);
  t.ok(live.content(0).equals(Buffer.concat([HEADER, recordOf(0)])));
  file.release();
});

void t.test('each life is given its logs once, as they are by then, and before what waits', async (t) => {
  fastClock(t);
  const memory = memoryOf(4);
  const log = new LogReader({ memory, index: 0 });
  log.prepare();
  const lives = new PaperLives(t);
  const writer = new WriterThread({
    memories: [memory],
    floorBytes: 7,
    run: lives.run,
    log: new PaperLog().log,
  });
  t.teardown(() => {
    const closed = writer.close();
    lives.end();
    return closed;
  });
  const plan = { memory: 0, log: 0, folder: '/', name: 'a.pcap', files: 1, fileBytes: 0 };
  const begin = (): Promise<LogFile> =>
    writer.begin({ ...plan, format: 'pcap', header: HEADER }, log, {
      sync: () => Promise.resolve(),
      close: () => undefined,
      onTrouble: (reason) => t.fail(reason),
    });
  const segment = { fd: 99, start: 0 };
  const begun = begin();
  const first = await lives.take(1, 1);
  first.answer(segment);
  await begun;
  const waits = begin();
  await lives.take(1, 2);
  first.end();
  const second = await lives.take(2, 2);
  const adopt = { task: 'adopt', input: { plan: { ...plan, id: 1 }, segment, position: 0 } };
  t.match(second.received, [adopt, { task: 'begin', input: { plan: { ...plan, id: 2 } } }]);
  // It writes and dies, and has not said that it adopted the log.
  const scribe = new LogScribe(memory, 0);
  scribe.put(recordOf(0));
  new LogMemory(memory, 0).store(LOG.drained, scribe.head);
  const failed = t.rejects(waits, { name: 'LoopDeath' });
  second.end();
  await failed;
  const third = await lives.take(3, 1);
  const later = t.rejects(begin(), refusals.stopping());
  await lives.take(3, 2);
  t.match(third.received, [
    { task: 'adopt', input: { segment, position: scribe.head } },
    { task: 'begin', input: { plan: { id: 3 } } },
  ]);
  t.equal(third.received.length, 2);
  const closed = writer.close();
  third.answer(undefined);
  third.end();
  await Promise.all([closed, later]);
});

void t.test('a ring tells of each of its files, and lets go of the oldest', async (t) => {
  const live = new LiveWriter(t);
  const file = await live.begin(0, { files: 3, fileBytes: 20_000 });
  const end = await live.write(0, 2000);
  await file.end();
  t.equal(file.segments.length, 3);
  t.equal(file.rotatedAway.bytes, file.start);
  t.equal(live.closed.length, file.rotatedAway.files);
  const all = recordsOf(0, 2000);
  for (const [index, content] of live.ring(0).entries()) {
    const { start = 0, end: limit = end } = file.segments[index] ?? {};
    t.ok(content.equals(Buffer.concat([HEADER, all.subarray(start, limit)])));
  }
  file.release();
});

void t.test(
  'a loop that ends its thread is started again, and not given for ever what it dies of',
  async (t) => {
    fastClock(t);
    const live = new LiveWriter(t, { worker: FAULTY_CAPTURE_WORKER });
    const file = await live.begin(0);
    const scribe = live.scribe(0);
    scribe.put(recordOf(0));
    const begun = live.begin(1, { name: `${WRITER_FAULT.exit}/1.pcap` });
    scribe.put(recordOf(1));
    await t.rejects(begun, { message: /^the writer of captures ended twice with the order begin: / });
    await live.restarted(2);
    t.same(live.reasons, ['its thread exited with code 3', 'its thread exited with code 3']);
    t.equal(live.writer.load, 1);
    await file.end();
    t.ok(live.content(0).equals(Buffer.concat([HEADER, recordsOf(0, 2)])));
    file.release();
  },
);

void t.test('a loop that does not come round is started again, and goes on with its logs', async (t) => {
  const check = heldChecks(t);
  const live = new LiveWriter(t, { worker: FAULTY_CAPTURE_WORKER });
  const file = await live.begin(0);
  const begun = live.begin(1, { name: `${WRITER_FAULT.spin}/1.pcap` });
  const failed = t.rejects(begun);
  await eventually('it is ended', () => {
    check();
    return live.writer.restarts > 0 ? true : undefined;
  });
  live.writer.kill();
  await failed;
  await file.end();
  file.release();
});

void t.test('a file that cannot be made is refused, with the reason, and leaves nothing', async (t) => {
  const live = new LiveWriter(t);
  mkdirSync(join(live.folder, 'captures', '0.pcap', 'inside'), { recursive: true });
  const before = readdirSync(live.folder, { recursive: true }).sort();
  await t.rejects(live.begin(0), refusals.isDirectory('0.pcap'));
  await t.rejects(live.begin(0, { name: '../outside.pcap' }), refusals.fileForbidden());
  await t.rejects(live.begin(0, { folder: join(live.folder, 'missing') }), refusals.fileMissing());
  t.equal(live.writer.load, 0);
  t.same(readdirSync(live.folder, { recursive: true }).sort(), before);
  const floor = new LiveWriter(t, { floorBytes: 2 ** 60 });
  await t.rejects(floor.begin(0), refusals.captureFloor(2 ** 60));
  t.same(readdirSync(join(floor.folder, 'captures')), []);
});

void t.test('a full disk ends one capture with a whole file, and no other', async (t) => {
  const disk = smallDisk(t, 4000);
  if (disk === undefined) {
    t.pass(`# SKIP ${NO_MOUNT}`);
    return;
  }
  const live = new LiveWriter(t);
  const full = await live.begin(0, { folder: disk });
  const other = await live.begin(1);
  const giveBack = fillDisk(disk, 200_000);
  const scribe = live.scribe(0);
  let number = 0;
  while (scribe.head < 400_000) scribe.put(recordOf(number++));
  await eventually('it is told of', () => live.troubles[0]);
  t.match(live.troubles, [/^0: The disk of this project is full: .* Make room/]);
  t.match(full.failure, /^The disk/);
  giveBack();
  live.writer.kill();
  await live.restarted(1);
  await live.write(1, 1000);
  await Promise.all([full.end(), other.end()]);
  t.equal(live.troubles.length, 1);
  t.ok(live.logAt(0).drained < scribe.head, 'it is not taken up again');
  const { size } = statSync(join(disk, 'captures', '0.pcap'));
  t.equal(size, full.bytes);
  let boundary = HEADER.length;
  for (let at = 0; boundary < size; at++) boundary += recordOf(at).length;
  t.equal(boundary, size);
  t.ok(live.content(1).equals(Buffer.concat([HEADER, recordsOf(0, 1000)])));
  full.release();
  other.release();
});

void t.test('a loop that is closed writes what there is, and takes nothing more', async (t) => {
  const live = new LiveWriter(t);
  const file = await live.begin(0);
  live.scribe(0).put(recordOf(0));
  await live.writer.close();
  t.ok(live.content(0).equals(Buffer.concat([HEADER, recordOf(0)])));
  await t.rejects(file.end(), refusals.stopping());
  await t.rejects(live.begin(1), refusals.stopping());
  file.release();
  const unused = new LiveWriter(t);
  await unused.writer.close();
  const dying = new LiveWriter(t);
  (await dying.begin(0)).release();
  dying.writer.kill();
  await dying.writer.close();
  t.equal(dying.writer.restarts, 0);
});
