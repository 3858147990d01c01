import { closeSync } from 'node:fs';
import t, { type Test } from 'tap';
import { LogReader, LogMemory } from '../../../src/captures/log/log-reader.js';
import { createFirst } from '../../../src/captures/writing/ring-files.js';
import { DiskRoom } from '../../../src/captures/writing/disk-room.js';
import { LogFile } from '../../../src/captures/log/log-file.js';
import { LogViewer } from '../../../src/captures/log/log-viewer.js';
import { LogDrain } from '../../../src/captures/writing/log-drain.js';
import { ViewerClock } from '../../../src/captures/log/viewer-clock.js';
import type { LogPlan, OpenSegment } from '../../../src/captures/writing/writer-orders.js';
import { CHUNK_LENGTH } from '../../../src/base/memory/capture-memory.js';
import { eventually } from '../../support/eventually.js';
import { PaperReads } from '../../support/file-reads.js';
import { HEADER, LiveWriter } from '../../support/live-writer.js';
import { LogScribe, memoryOf, recordOf, recordsOf } from '../../support/log-scribe.js';
import { scratchFolder } from '../../support/scratch.js';
import { seededRandom } from '../../support/seeded-random.js';

/** Takes all that it is given. */
class Audience {
  readonly viewer: LogViewer;
  readonly parts: Buffer[] = [];
  readonly ways = { memory: 0, file: 0 };

  constructor(viewer: LogViewer) {
    this.viewer = viewer;
  }

  /** Returns what it was told after the last bytes. */
  async takeAll(most = Infinity): Promise<'nothing' | 'over' | 'enough'> {
    for (let taken = 0; taken < most; taken++) {
      const given = this.viewer.next((bytes) => {
        this.parts.push(Buffer.from(bytes));
        this.ways.memory++;
      });
      if (given === 'nothing' || given === 'over') return given;
      if (given === 'given') continue;
      this.parts.push(Buffer.from(await given));
      this.ways.file++;
    }
    return 'enough';
  }

  /** Until it is over, waiting each time to be called. */
  async follow(pause: () => Promise<unknown> = () => Promise.resolve()): Promise<void> {
    let call: () => void = () => undefined;
    this.viewer.onReady(() => {
      call();
    });
    for (;;) {
      const called = new Promise<void>((resolve) => (call = resolve));
      const told = await this.takeAll(3);
      if (told === 'over') return;
      if (told === 'nothing') await called;
      else await pause();
    }
  }

  get content(): Buffer {
    return Buffer.concat(this.parts);
  }
}

class Rig {
  readonly memory = memoryOf(64);
  readonly log = new LogReader({ memory: this.memory, index: 0 });
  readonly scribe: LogScribe;
  readonly reads = new PaperReads();
  readonly clock = new ViewerClock();
  readonly file: LogFile;
  readonly writer: LogDrain;
  /** Rotations that are not told yet. */
  readonly untold: OpenSegment[] = [];
  isOver = false;
  closedViewers = 0;
  readonly closed: number[] = [];

  constructor(t: Test, options: Partial<LogPlan> = {}) {
    this.log.prepare();
    this.scribe = new LogScribe(this.memory, 0);
    const plan: LogPlan = {
      id: 1,
      memory: 0,
      log: 0,
      folder: scratchFolder(t),
      name: 'captures/a.pcap',
      format: 'pcap',
      header: HEADER,
      files: 1,
      fileBytes: 0,
      ...options,
    };
    const segment = { fd: createFirst(plan, HEADER), start: 0 };
    this.file = new LogFile({
      log: this.log,
      segment,
      headerLength: HEADER.length,
      files: plan.files,
      finish: () => Promise.resolve(),
      sync: () => Promise.resolve(),
      close: (fd) => {
        closeSync(fd);
        this.closed.push(fd);
      },
      onTrouble: () => undefined,
    });
    t.teardown(() => {
      this.file.release();
    });
    const state = { segment, position: 0 };
    this.writer = new LogDrain(plan, new LogMemory(this.memory, 0), new DiskRoom(0), state, (next) => {
      this.untold.push(next);
    });
  }

  tell(): void {
    for (const segment of this.untold.splice(0)) this.file.rotated(segment);
  }

  view(file: LogFile | undefined = this.file): Audience {
    const { log, reads: files, clock } = this;
    return new Audience(
      new LogViewer({
        log,
        file,
        header: HEADER,
        files,
        clock,
        isOver: () => this.isOver,
        onClosed: () => this.closedViewers++,
      }),
    );
  }
}

void t.test('the header comes first, and what is not in the file yet comes from memory', async (t) => {
  const rig = new Rig(t);
  const audience = rig.view();
  t.equal(await audience.takeAll(), 'nothing');
  t.ok(audience.content.equals(HEADER));
  rig.scribe.put(recordOf(0), recordOf(1));
  t.equal(audience.viewer.lag, rig.scribe.head);
  t.equal(await audience.takeAll(), 'nothing');
  t.equal(audience.viewer.lag, 0);
  t.ok(audience.content.equals(Buffer.concat([HEADER, recordsOf(0, 2)])));
  t.equal(rig.reads.reads, 0);
  rig.isOver = true;
  t.equal(await audience.takeAll(), 'over');
  audience.viewer.close();
  audience.viewer.close();
  t.equal(rig.closedViewers, 1);
});

void t.test(
  'a late viewer begins with the oldest record: it reads from the file what memory is to give up next',
  async (t) => {
    const rig = new Rig(t);
    let number = 0;
    while (rig.scribe.head < 40 * CHUNK_LENGTH) {
      rig.scribe.put(recordOf(number++));
      if (number % 100 === 0) rig.writer.finish(0);
    }
    t.ok(rig.log.oldest > 30 * CHUNK_LENGTH);
    const audience = rig.view();
    t.equal(await audience.takeAll(), 'nothing');
    t.ok(audience.content.equals(Buffer.concat([HEADER, recordsOf(0, number)])));
    t.ok(audience.ways.file > 5 && audience.ways.memory > 2);
    rig.isOver = true;
    rig.writer.finish(0);
    rig.log.leaveMemory();
    t.equal(await audience.takeAll(), 'over');
    const late = rig.view();
    t.equal(await late.takeAll(), 'over');
    t.same(late.ways.memory, 1, 'only the header is not from the file');
    t.ok(late.content.equals(audience.content));
    for (const { viewer } of [audience, late]) viewer.close();
  },
);

void t.test(
  'a viewer that is left behind by a ring goes on with its oldest record, and knows what it missed',
  async (t) => {
    const rig = new Rig(t, { files: 2, fileBytes: 100_000 });
    const slow = rig.view();
    let number = 0;
    const write = (): void => {
      for (let count = 0; count < 1000; count++) {
        rig.scribe.put(recordOf(number++));
        if (count % 20 === 0) rig.writer.finish(0);
      }
      rig.writer.finish(0);
      rig.tell();
    };
    write();
    t.equal(await slow.takeAll(), 'nothing');
    const { start } = rig.file;
    t.equal(slow.viewer.skippedBytes, start);
    const first = recordsOf(0, number);
    t.ok(slow.content.equals(Buffer.concat([HEADER, first.subarray(start)])));
    write();
    t.equal(await slow.takeAll(), 'nothing');
    t.equal(slow.viewer.skippedBytes, start + rig.file.start - first.length);
    const all = recordsOf(0, number);
    t.ok(slow.content.subarray(HEADER.length + first.length - start).equals(all.subarray(rig.file.start)));
    const late = rig.view();
    await late.takeAll();
    t.equal(late.viewer.skippedBytes, 0, 'what was gone before it came is not missed');
    for (const { viewer } of [slow, late]) viewer.close();
  },
);

void t.test('a rotation that is not told yet is waited for', async (t) => {
  const rig = new Rig(t, { files: 3, fileBytes: 150_000 });
  const audience = rig.view();
  let number = 0;
  while (rig.untold.length === 0 || rig.scribe.head < 6 * CHUNK_LENGTH) {
    rig.scribe.put(recordOf(number++));
    rig.writer.finish(0);
  }
  const taken = audience.takeAll();
  // It comes to the end of the first file before it is told of the second.
  const end = rig.untold[0]?.start ?? 0;
  let reads = 0;
  rig.reads.before = () => {
    if (++reads === 4) rig.tell();
    return Promise.resolve();
  };
  t.equal(await taken, 'nothing');
  t.ok(reads > 4 && end > 0);
  t.ok(audience.parts.every(({ length }) => length > 0));
  t.ok(audience.content.equals(Buffer.concat([HEADER, recordsOf(0, number)])));
  audience.viewer.close();
});

void t.test('without a file, the viewer drains the log', async (t) => {
  const rig = new Rig(t);
  const audience = rig.view(undefined);
  const parts: Buffer[] = [HEADER];
  const viewer = new LogViewer({
    log: rig.log,
    file: undefined,
    header: HEADER,
    files: rig.reads,
    clock: rig.clock,
    isOver: () => rig.isOver,
    onClosed: () => undefined,
  });
  audience.viewer.close();
  const reader = new Audience(viewer);
  for (let number = 0; number < 20_000; number++) {
    const record = recordOf(number);
    parts.push(record);
    rig.scribe.put(record);
    if (number % 500 === 0) await reader.takeAll();
  }
  await reader.takeAll();
  t.equal(rig.log.drained, rig.scribe.head);
  rig.isOver = true;
  t.equal(await reader.takeAll(), 'over');
  t.ok(reader.content.equals(Buffer.concat(parts)));
  t.equal(reader.ways.file, 0);
  viewer.close();
});

void t.test('a file that has failed is given as far as it goes, and then it is over', async (t) => {
  const rig = new Rig(t);
  rig.scribe.put(recordOf(0));
  rig.writer.finish(0);
  rig.scribe.put(recordOf(1));
  rig.isOver = true;
  rig.log.leaveMemory();
  const audience = rig.view();
  t.equal(await audience.takeAll(), 'over');
  t.ok(audience.content.equals(Buffer.concat([HEADER, recordOf(0)])));
  t.equal(audience.viewer.lag, recordOf(1).length);
  audience.viewer.close();
});

void t.test(
  'descriptors stay open until the last viewer has gone, and its last read has come back',
  async (t) => {
    const rig = new Rig(t);
    rig.scribe.put(recordOf(0));
    rig.writer.finish(0);
    const audience = rig.view();
    rig.log.leaveMemory();
    const piece = audience.viewer.next(() => undefined);
    t.equal(piece, 'given');
    let go: () => void = () => undefined;
    rig.reads.before = () => new Promise<void>((resolve) => (go = resolve));
    const read = audience.viewer.next(() => undefined);
    rig.file.release();
    audience.viewer.close();
    await new Promise((resolve) => setImmediate(resolve));
    t.same(rig.closed, []);
    go();
    t.ok(Buffer.from((await read) as Uint8Array).equals(recordOf(0)));
    await eventually('it is closed', () => (rig.closed.length > 0 ? true : undefined));
  },
);

void t.test('viewers of every pace get every octet, from memory and from the file', async (t) => {
  const live = new LiveWriter(t);
  const clock = new ViewerClock();
  const file = await live.begin(0);
  const reads = new PaperReads();
  let isOver = false;
  const open = (): Audience => {
    return new Audience(
      new LogViewer({
        log: live.logAt(0),
        file,
        header: HEADER,
        files: reads,
        clock,
        isOver: () => isOver,
        onClosed: () => undefined,
      }),
    );
  };
  const audiences = Array.from({ length: 12 }, open);
  const following = audiences.map((audience, index) => {
    const random = seededRandom(index);
    return audience.follow(() => {
      const ms = random() < 0.1 * index ? random() * index : 0;
      return new Promise((resolve) => (ms > 0 ? setTimeout(resolve, ms) : setImmediate(resolve)));
    });
  });
  const count = 15_000;
  await live.write(0, count);
  const late = open();
  await file.end();
  live.logAt(0).leaveMemory();
  isOver = true;
  file.release();
  await Promise.all([...following, late.follow()]);
  const expected = Buffer.concat([HEADER, recordsOf(0, count)]);
  for (const audience of [...audiences, late]) {
    t.ok(audience.content.equals(expected), `${audience.ways.memory} and ${audience.ways.file} pieces`);
    t.equal(audience.viewer.skippedBytes, 0);
    t.equal(live.closed.length, 0);
    audience.viewer.close();
  }
  await new Promise((resolve) => setImmediate(resolve));
  t.equal(live.closed.length, 1);
  t.same(late.ways.memory, 1, 'there was only the file when it looked');
});
