import { closeSync, fstatSync, readdirSync, readFileSync, readSync, writeSync } from 'node:fs';
import { join } from 'node:path';
import t, { type Test } from 'tap';
import { LogReader, LogMemory } from '../../../src/captures/log/log-reader.js';
import { createFirst } from '../../../src/captures/writing/ring-files.js';
import { DiskRoom } from '../../../src/captures/writing/disk-room.js';
import { LogDrain } from '../../../src/captures/writing/log-drain.js';
import type { LogPlan, OpenSegment } from '../../../src/captures/writing/writer-orders.js';
import { LogScribe, memoryOf, recordOf, recordsOf } from '../../support/log-scribe.js';
import { scratchFolder } from '../../support/scratch.js';
import { seededRandom } from '../../support/seeded-random.js';
import { fillDisk, NO_MOUNT, smallDisk } from '../../support/small-disk.js';

const HEADER = Buffer.from('a header of 24 octets...');

class Rig {
  readonly folder: string;
  readonly plan: LogPlan;
  readonly memory = memoryOf(64);
  readonly log: LogReader;
  readonly scribe: LogScribe;
  readonly segments: OpenSegment[];
  readonly writer: LogDrain;

  constructor(t: Test, options: Partial<LogPlan> & { floor?: number } = {}) {
    const { floor = 0, ...plan } = options;
    this.folder = plan.folder ?? scratchFolder(t);
    this.plan = {
      id: 1,
      memory: 0,
      log: 0,
      folder: this.folder,
      name: 'captures/a.pcap',
      format: 'pcap',
      header: HEADER,
      files: 1,
      fileBytes: 0,
      ...plan,
    };
    this.log = new LogReader({ memory: this.memory, index: 0 });
    this.log.prepare();
    this.scribe = new LogScribe(this.memory, 0);
    this.segments = [{ fd: createFirst(this.plan, HEADER), start: 0 }];
    t.teardown(() => {
      for (const { fd } of this.segments) closeSync(fd);
    });
    this.writer = this.newWriter(floor);
  }

  newWriter(floor = 0): LogDrain {
    const [segment = { fd: -1, start: 0 }] = this.segments.slice(-1);
    const state = { segment, position: this.log.drained };
    return new LogDrain(this.plan, new LogMemory(this.memory, 0), new DiskRoom(floor), state, (next) => {
      this.segments.push(next);
    });
  }

  /** Oldest first. */
  files(): Buffer[] {
    const folder = join(this.folder, 'captures');
    const age = (name: string): number => Number(/\.(\d+)\.pcap$/.exec(name)?.[1] ?? 0);
    const names = readdirSync(folder).sort((one, other) => age(other) - age(one));
    return names.map((name) => readFileSync(join(folder, name)));
  }

  content(): Buffer {
    return this.files()[0] ?? Buffer.alloc(0);
  }
}

void t.test('waiting bytes are written when they are many or old, and are drained only then', (t) => {
  const rig = new Rig(t);
  const { writer, scribe, log } = rig;
  t.ok(rig.content().equals(HEADER), 'the header is there before any record');
  t.equal(writer.look(1000), 0);
  scribe.put(recordOf(0));
  t.equal(writer.look(1000), 0, 'little and young');
  t.equal(writer.look(1049), 0);
  t.same([log.drained, rig.content().length], [0, HEADER.length]);
  t.equal(writer.look(1050), scribe.head, 'old');
  t.equal(log.drained, scribe.head);
  t.ok(rig.content().equals(Buffer.concat([HEADER, recordOf(0)])));
  let number = 1;
  while (scribe.head - log.drained < 64 * 1024) scribe.put(recordOf(number++));
  t.equal(writer.look(1051), scribe.head - recordOf(0).length, 'much');
  scribe.put(recordOf(number++));
  t.equal(writer.look(1100), 0, 'its age counts from when it was first seen');
  t.equal(writer.look(1149), 0);
  writer.finish(1149);
  t.equal(log.drained, scribe.head);
  t.ok(rig.content().equals(Buffer.concat([HEADER, recordsOf(0, number)])));
  t.end();
});

void t.test('a log that laps its memory many times is in the file, octet for octet', (t) => {
  const rig = new Rig(t);
  const random = seededRandom(1);
  const all: Buffer[] = [HEADER];
  let written = 0;
  for (let number = 0; written < 30e6; number++) {
    const record = recordOf(number, 'pcap', 4000);
    rig.scribe.put(record);
    all.push(record);
    written += record.length;
    if (random() < 0.003) rig.writer.look(number);
  }
  rig.writer.finish(0);
  t.ok(rig.content().equals(Buffer.concat(all)));
  t.end();
});

for (const format of ['pcap', 'pcapng'] as const) {
  for (const files of [2, 3, 8]) {
    void t.test(`a ring of ${files} ${format} files holds the youngest records, each file whole`, (t) => {
      const fileBytes = 20_000;
      const rig = new Rig(t, { files, fileBytes, format });
      const random = seededRandom(files);
      const records: Buffer[] = [];
      for (let number = 0; number < 1000; number++) {
        // Now and then one that no file has room for.
        const record = recordOf(number, format, number % 300 === 299 ? 30_000 : 1500);
        records.push(record);
        rig.scribe.put(record);
        if (random() < 0.05) rig.writer.look(number * 100);
      }
      rig.writer.finish(0);
      const found = rig.files();
      t.equal(found.length, files);
      for (const file of found) t.ok(file.subarray(0, HEADER.length).equals(HEADER));
      const all = Buffer.concat(records);
      const held = Buffer.concat(found.map((file) => file.subarray(HEADER.length)));
      t.ok(all.subarray(-held.length).equals(held), 'nothing is missing between them');
      t.equal(rig.log.drained, all.length);
      // As they were reported: each begins with a record, and is as full as it can be.
      const starts = [...rig.segments.map(({ start }) => start), all.length];
      let boundary = 0;
      const boundaries = new Map(records.map((record) => [boundary, (boundary += record.length)]));
      for (const [index, start] of starts.slice(0, -1).entries()) {
        const end = starts[index + 1] ?? 0;
        t.ok(boundaries.has(start));
        const isOneRecord = boundaries.get(start) === end;
        t.ok(isOneRecord || HEADER.length + end - start <= fileBytes);
        if (end === all.length) continue;
        t.ok(HEADER.length + (boundaries.get(end) ?? 0) - start > fileBytes, 'another did not fit');
      }
      t.end();
    });
  }
}

void t.test('a writer goes on where another one died', (t) => {
  const rig = new Rig(t);
  rig.scribe.put(recordOf(0), recordOf(1));
  rig.writer.finish(0);
  rig.scribe.put(recordOf(2));
  // It died between writing and saying so, and before it was done.
  const [segment] = rig.segments;
  writeSync(segment?.fd ?? -1, recordOf(2), 0, 11, fstatSync(segment?.fd ?? -1).size);
  const next = rig.newWriter();
  next.cut();
  t.ok(rig.content().equals(Buffer.concat([HEADER, recordsOf(0, 2)])));
  next.finish(0);
  t.ok(rig.content().equals(Buffer.concat([HEADER, recordsOf(0, 3)])));
  t.end();
});

void t.test('a full disk has the last record that fit, whole', (t) => {
  const disk = smallDisk(t, 2000);
  if (disk === undefined) {
    t.pass(`# SKIP ${NO_MOUNT}`);
    t.end();
    return;
  }
  for (const [format, left] of [
    ['pcap', 100_000],
    ['pcapng', 140_000],
  ] as const) {
    const rig = new Rig(t, { folder: disk, format, name: `captures/${format}.pcap` });
    rig.scribe.put(recordOf(0, format));
    rig.writer.finish(0);
    const giveBack = fillDisk(disk, left);
    let number = 1;
    while (rig.scribe.head < 300_000) rig.scribe.put(recordOf(number++, format));
    t.throws(
      () => {
        rig.writer.finish(0);
      },
      { code: 'ENOSPC' },
    );
    const all = Buffer.concat([HEADER, recordsOf(0, number, format)]);
    const found = readFileSync(join(disk, rig.plan.name));
    t.ok(all.subarray(0, found.length).equals(found));
    t.equal(found.length, HEADER.length + rig.log.drained);
    t.ok(found.length >= left - 5000, `${found.length} of about ${left} octets were used`);
    let boundary = HEADER.length;
    for (let at = 0; boundary < found.length; at++) boundary += recordOf(at, format).length;
    t.equal(boundary, found.length);
    giveBack();
    rig.writer.finish(0);
    t.ok(readFileSync(join(disk, rig.plan.name)).equals(all), 'it could have gone on');
  }
  t.end();
});

void t.test('nothing is written to a disk that has less than the floor', (t) => {
  const rig = new Rig(t, { floor: 2 ** 60 });
  rig.writer.finish(0);
  rig.scribe.put(recordOf(0));
  t.throws(
    () => {
      rig.writer.finish(0);
    },
    { message: /^Less than/ },
  );
  t.equal(rig.log.drained, 0);
  t.end();
});

void t.test('a file that has lost its name is written on', (t) => {
  const rig = new Rig(t);
  const [{ fd } = { fd: -1 }] = rig.segments;
  createFirstAgain(rig, t);
  rig.scribe.put(recordOf(0));
  rig.writer.finish(0);
  t.ok(rig.content().equals(HEADER), 'the new one is left alone');
  const bytes = Buffer.alloc(HEADER.length + recordOf(0).length);
  t.equal(readSync(fd, bytes, 0, bytes.length, 0), bytes.length);
  t.end();
});

function createFirstAgain(rig: Rig, t: Test): void {
  const fd = createFirst(rig.plan, HEADER);
  t.teardown(() => {
    closeSync(fd);
  });
}
