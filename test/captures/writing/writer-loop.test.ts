import { closeSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import t, { type Test } from 'tap';
import { LogReader } from '../../../src/captures/log/log-reader.js';
import { WriterLoop } from '../../../src/captures/writing/writer-loop.js';
import type { BeginDrain, LogPlan, WriterReport } from '../../../src/captures/writing/writer-orders.js';
import { LogScribe, memoryOf } from '../../support/log-scribe.js';
import { scratchFolder } from '../../support/scratch.js';

const HEADER = Buffer.from('a header of 24 octets...');
const MIB = 1024 * 1024;

/** A loop with logs, run in this thread. */
class Rig {
  readonly folder: string;
  readonly memories = [memoryOf(40), memoryOf(40)];
  readonly reports: WriterReport[] = [];
  readonly loop = new WriterLoop(this.memories, 0, (report) => this.reports.push(report));
  readonly #t: Test;
  #now = 0;

  constructor(t: Test) {
    this.#t = t;
    this.folder = scratchFolder(t);
  }

  begin(index: number, plan: Partial<LogPlan> = {}): LogScribe {
    const memory = this.memories[index] ?? memoryOf(1);
    new LogReader({ memory, index: 0 }).prepare();
    const input: BeginDrain = {
      plan: {
        id: index,
        memory: index,
        log: 0,
        folder: this.folder,
        name: `captures/${index}.pcap`,
        format: 'pcap',
        header: HEADER,
        files: 1,
        fileBytes: 0,
        ...plan,
      },
      position: 0,
    };
    const { fd, start } = this.loop.tasks.begin(input);
    this.#t.teardown(() => {
      closeSync(fd);
    });
    this.#t.equal(start, 0);
    return new LogScribe(memory, 0);
  }

  /** A round long after the last one; returns how long the next may wait. */
  round(): number {
    this.#now += 1000;
    return this.loop.round(this.#now);
  }

  length(index: number): number {
    return readFileSync(join(this.folder, 'captures', `${index}.pcap`)).length - HEADER.length;
  }
}

void t.test('a loop waits the less the more one of its logs had, and for ever without logs', (t) => {
  const rig = new Rig(t);
  t.equal(rig.round(), Infinity);
  const busy = rig.begin(0);
  rig.begin(1);
  t.equal(rig.round(), 20);
  for (const [length, wait] of [
    [64 * 1024 - 1, 20],
    [64 * 1024, 4],
    [MIB - 1, 4],
    [MIB, 0],
  ] as const) {
    busy.put(Buffer.alloc(length));
    // A few bytes wait for their time, which the first look begins.
    const waits = [rig.round(), rig.round()];
    t.equal(Math.min(...waits), wait, `${length} octets`);
    t.equal(rig.round(), 20);
  }
  t.equal(rig.length(0), busy.head);
  rig.loop.tasks.end({ id: 0 });
  t.equal(rig.round(), 20);
  rig.loop.tasks.end({ id: 1 });
  t.equal(rig.round(), Infinity);
  t.same(rig.reports, []);
  t.end();
});

void t.test('a log that cannot be written is told of once and left alone, and others go on', (t) => {
  const rig = new Rig(t);
  const [bad, good] = [rig.begin(0, { files: 2, fileBytes: 1000, format: 'pcapng' }), rig.begin(1)];
  // No block is shorter than its own length.
  bad.put(Buffer.alloc(2000));
  good.put(Buffer.alloc(2000));
  rig.round();
  rig.round();
  t.match(rig.reports, [{ kind: 'trouble', id: 0, reason: String }]);
  t.equal(rig.length(1), 2000);
  rig.loop.tasks.end({ id: 0 });
  good.put(Buffer.alloc(10));
  rig.loop.finish(5000);
  t.equal(rig.length(1), 2010, 'the end writes what there is');
  t.equal(rig.reports.length, 1);
  t.end();
});
