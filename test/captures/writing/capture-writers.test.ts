import { readdirSync, readFileSync } from 'node:fs';
import { availableParallelism, getPriority } from 'node:os';
import { join } from 'node:path';
import { pino } from 'pino';
import t, { type Test } from 'tap';
import { LogReader } from '../../../src/captures/log/log-reader.js';
import { CaptureWriters } from '../../../src/captures/writing/capture-writers.js';
import type { LogFile } from '../../../src/captures/log/log-file.js';
import { refusals } from '../../../src/base/errors/errors.js';
import { eventually } from '../../support/eventually.js';
import {
  CAPTURE_WORKER,
  FAULTY_CAPTURE_WORKER,
  HEADER,
  newChorePool,
  openDescriptors,
} from '../../support/live-writer.js';
import { LogScribe, memoryOf, recordOf } from '../../support/log-scribe.js';
import { scratchFolder } from '../../support/scratch.js';
import { WRITER_FAULT } from '../../support/writer-faults.js';

const memories = [memoryOf(4), memoryOf(4)];

class Rig {
  readonly folder: string;
  readonly writers: CaptureWriters;
  readonly log: string[] = [];

  constructor(t: Test, worker = CAPTURE_WORKER) {
    this.folder = scratchFolder(t);
    const chores = newChorePool();
    this.writers = new CaptureWriters({
      worker,
      chores,
      memories,
      log: pino({}, { write: (line: string) => this.log.push(line) }),
      floorBytes: 0,
    });
    t.teardown(async () => {
      await this.writers.close();
      await chores.close();
    });
  }

  newLog(index: number): LogReader {
    const [, memory = memoryOf(1)] = memories;
    const log = new LogReader({ memory, index });
    log.prepare();
    return log;
  }

  begin(log: LogReader, name: string, below = 'captures'): Promise<LogFile> {
    return this.writers.begin({
      log,
      folder: this.folder,
      name: `${below}/${name}`,
      format: 'pcap',
      header: HEADER,
      files: 1,
      fileBytes: 0,
      onTrouble: () => undefined,
    });
  }

  content(name: string): Buffer {
    return readFileSync(join(this.folder, 'captures', name));
  }
}

const threads = (): string[] => readdirSync('/proc/self/task');

void t.test('a thousand captures, begun and ended, leave nothing behind', async (t) => {
  const rig = new Rig(t);
  const captureOnce = async (number: number): Promise<void> => {
    const log = rig.newLog(number % 16);
    const file = await rig.begin(log, `${number % 8}.pcap`);
    const scribe = new LogScribe(log.memory, log.index);
    scribe.put(recordOf(number));
    await file.end();
    log.leaveMemory();
    file.release();
  };
  const rounds = async (from: number, count: number): Promise<void> => {
    for (let number = from; number < from + count; number += 8) {
      await Promise.all(Array.from({ length: 8 }, (_, index) => captureOnce(number + index)));
    }
  };
  await rounds(0, 200);
  const settled = async (): Promise<number> => {
    let last = -1;
    return eventually('descriptors are closed', () => {
      const before = last;
      last = openDescriptors();
      return last === before ? last : undefined;
    });
  };
  const [descriptors, memory] = [await settled(), process.memoryUsage.rss()];
  await rounds(200, 1000);
  t.equal(await settled(), descriptors);
  const grown = (process.memoryUsage.rss() - memory) / 2 ** 20;
  t.ok(grown < 40, `${grown.toFixed(1)} MiB more than before`);
  t.same(rig.log, []);
  t.ok(rig.content('7.pcap').equals(Buffer.concat([HEADER, recordOf(1199)])));
});

void t.test(
  'no thread runs before there is a capture, and those that do are behind the engines',
  async (t) => {
    if (process.platform !== 'linux') {
      t.pass('# SKIP threads are looked at in /proc');
      return;
    }
    const before = new Set(threads());
    const rig = new Rig(t);
    t.same(
      threads().filter((id) => !before.has(id)),
      [],
    );
    const file = await rig.begin(rig.newLog(0), 'a.pcap');
    // The nineteenth field; the second may hold spaces.
    const niceness = threads().map((id) => {
      const [, fields = ''] = readFileSync(`/proc/self/task/${id}/stat`, 'utf8').split(') ');
      return Number(fields.split(' ')[16]);
    });
    const own = getPriority();
    t.equal(niceness.filter((nice) => nice === own + 5 || nice === 5).length, 1, 'one thread, and no other');
    await file.end();
    file.release();
  },
);

void t.test('a file outlives the thread that writes it', async (t) => {
  const rig = new Rig(t, FAULTY_CAPTURE_WORKER);
  const log = rig.newLog(0);
  const file = await rig.begin(log, 'a.pcap');
  // Each loop gets one.
  const loops = Math.max(1, Math.floor(availableParallelism() / 2));
  const fatal = Array.from({ length: loops }, (_, index) => {
    return t.rejects(rig.begin(rig.newLog(index + 1), `${index}.pcap`, WRITER_FAULT.exit));
  });
  await Promise.all(fatal);
  new LogScribe(log.memory, log.index).put(recordOf(0));
  await file.end();
  t.ok(rig.content('a.pcap').equals(Buffer.concat([HEADER, recordOf(0)])));
  t.match(rig.log.join(''), 'a writer of captures was restarted');
  file.release();
});

void t.test('closing ends what is still written', async (t) => {
  const rig = new Rig(t);
  const log = rig.newLog(0);
  const file = await rig.begin(log, 'a.pcap');
  new LogScribe(log.memory, log.index).put(recordOf(0));
  await rig.writers.close();
  t.ok(rig.content('a.pcap').equals(Buffer.concat([HEADER, recordOf(0)])));
  await file.end();
  await t.rejects(rig.begin(rig.newLog(1), 'b.pcap'), refusals.stopping());
});

void t.test('a log of elsewhere is no log of ours', async (t) => {
  const rig = new Rig(t);
  const log = new LogReader({ memory: memoryOf(1), index: 0 });
  await t.rejects(rig.begin(log, 'a.pcap'), { message: /memory that the writers were not given/ });
});
