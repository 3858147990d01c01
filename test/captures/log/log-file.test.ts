import { closeSync, openSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import t, { type Test } from 'tap';
import { LogReader } from '../../../src/captures/log/log-reader.js';
import { LogFile } from '../../../src/captures/log/log-file.js';
import { PaperReads } from '../../support/file-reads.js';
import { memoryOf } from '../../support/log-scribe.js';
import { scratchFolder } from '../../support/scratch.js';

const HEADER_LENGTH = 10;

class Rig {
  readonly calls: string[] = [];
  readonly troubles: string[] = [];
  readonly log = new LogReader({ memory: memoryOf(1), index: 0 });
  readonly file: LogFile;
  finish = (): Promise<void> => Promise.resolve();

  constructor(files = 1, fd = 50) {
    this.log.prepare();
    this.file = new LogFile({
      log: this.log,
      segment: { fd, start: 0 },
      headerLength: HEADER_LENGTH,
      files,
      finish: async () => {
        this.calls.push('finish');
        await this.finish();
      },
      sync: (synced) => {
        this.calls.push(`sync ${synced}`);
        return Promise.resolve();
      },
      close: (closed) => this.calls.push(`close ${closed}`),
      onTrouble: (reason) => this.troubles.push(reason),
    });
  }
}

const stretches = ({ segments }: LogFile): unknown[] =>
  segments.map(({ fd, start, end }) => [fd, start, end]);

void t.test(
  'a file ends once: what is in the log is written, then synced; it is closed when all let go',
  async (t) => {
    const { file, calls } = new Rig();
    file.hold();
    file.hold();
    await Promise.all([file.end(), file.end()]);
    t.same(calls, ['finish', 'sync 50']);
    file.release();
    file.release();
    t.equal(calls.length, 2);
    file.release();
    t.same(calls, ['finish', 'sync 50', 'close 50']);
    t.throws(() => {
      file.hold();
    }, /closed already/);
  },
);

void t.test('an end that fails tells why', async (t) => {
  const rig = new Rig();
  rig.finish = () => Promise.reject(new Error('the disk has gone'));
  await t.rejects(rig.file.end(), { message: 'the disk has gone' });
});

void t.test('a ring knows where each of its files begins and ends, and what has left it', (t) => {
  const { file, calls, log } = new Rig(3);
  log.drainTo(100);
  t.equal(file.bytes, 100 + HEADER_LENGTH);
  file.rotated({ fd: 51, start: 100 });
  file.rotated({ fd: 52, start: 250 });
  log.drainTo(300);
  t.same(stretches(file), [
    [50, 0, 100],
    [51, 100, 250],
    [52, 250, undefined],
  ]);
  t.equal(file.bytes, 300 + 3 * HEADER_LENGTH);
  t.same(file.rotatedAway, { files: 0, bytes: 0 });
  t.same(calls, []);
  file.rotated({ fd: 53, start: 300 });
  t.same(calls, ['close 50']);
  t.same(file.rotatedAway, { files: 1, bytes: 100 });
  file.rotated({ fd: 54, start: 310 });
  t.same(file.rotatedAway, { files: 2, bytes: 250 });
  t.equal(file.start, 250);
  t.equal(file.bytes, 50 + 3 * HEADER_LENGTH);
  t.same(
    [250, 299, 300, 310, 900].map((position) => file.segmentAt(position).fd),
    [52, 52, 53, 54, 54],
  );
  file.release();
  t.same(calls, ['close 50', 'close 51', 'close 52', 'close 53', 'close 54']);
  t.end();
});

void t.test('trouble is told once', (t) => {
  const { file, troubles } = new Rig();
  t.equal(file.failure, undefined);
  file.failed('the disk is full');
  file.failed('and still is');
  t.same(troubles, ['the disk is full']);
  t.equal(file.failure, 'the disk is full');
  t.end();
});

function openedFile(t: Test): number {
  const path = join(scratchFolder(t), 'file');
  writeFileSync(path, 'the header0123456789');
  const fd = openSync(path, 'r');
  t.teardown(() => {
    closeSync(fd);
  });
  return fd;
}

void t.test('a file is not closed under a read', async (t) => {
  const fd = openedFile(t);
  const { file, calls } = new Rig(2, fd);
  const reads = new PaperReads();
  let go: () => void = () => undefined;
  reads.before = () => new Promise<void>((resolve) => (go = resolve));
  const { current } = file;
  const piece = current.read(reads, 3, 4);
  file.rotated({ fd: 101, start: 10 });
  file.rotated({ fd: 102, start: 10 });
  t.same(calls, [], 'it has left the ring, and is read');
  go();
  t.equal(Buffer.from(await piece).toString(), '3456');
  t.same(calls, [`close ${fd}`]);
  await t.rejects(current.read(reads, 3, 4), { message: /after it was closed/ });
  t.same(calls, [`close ${fd}`]);
});
