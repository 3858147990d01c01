/** Files that are written from front to back, large ones past the system's memory. */
import {
  constants,
  existsSync,
  openSync,
  closeSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  statSync,
  statfsSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { Worker } from 'node:worker_threads';
import t, { type Test } from 'tap';
import { BulkFile } from '../../../src/base/disk/bulk-file.js';
import { DiskQueue } from '../../../src/base/disk/disk-queue.js';
import { PageCache } from '../../../src/files/downloads/file-reads.js';
import { hasDirectWrites, NO_DIRECT, NO_RAMFS, plainDisk } from '../../support/direct-disk.js';
import { HeldDisk } from '../../support/held-disk.js';
import { Random, RandomBytes, testSeed } from '../../support/random.js';
import { scratchFolder } from '../../support/scratch.js';
import { NO_MOUNT, smallDisk } from '../../support/small-disk.js';

const PAGE = 4096;
const MEBIBYTE = 1024 * 1024;
const MODULE = new URL('../../../src/base/disk/bulk-file.js', import.meta.url);
/** Around pages and buffers. */
const LENGTHS = [0, 1, 5, PAGE - 1, PAGE, PAGE + 1, 65_536, MEBIBYTE - 1, MEBIBYTE, MEBIBYTE + 1, 2_500_000];
const folder = scratchFolder(t);
const seed = testSeed(11);
const direct = hasDirectWrites(folder) ? false : NO_DIRECT;

/** How this process has the file open; undefined when it has not. */
function flagsOf(path: string): number | undefined {
  for (const fd of readdirSync('/proc/self/fd')) {
    try {
      if (readlinkSync(`/proc/self/fd/${fd}`) !== path) continue;
    } catch {
      continue;
    }
    return parseInt(/^flags:\s+(\d+)/m.exec(readFileSync(`/proc/self/fdinfo/${fd}`, 'utf8'))?.[1] ?? '0', 8);
  }
  return undefined;
}

const isDirect = (path: string): boolean => ((flagsOf(path) ?? 0) & constants.O_DIRECT) !== 0;

/** A file, and what it is to have. */
class Written {
  readonly path: string;
  readonly file: BulkFile;
  content = Buffer.alloc(0);
  skips = 0;
  /** Pages that hold written bytes. */
  readonly pages = new Set<number>();

  constructor(path: string, size: number) {
    this.path = path;
    this.file = BulkFile.create(path, 0o644, size);
  }

  write(bytes: Buffer): void {
    const start = this.content.length;
    this.content = Buffer.concat([this.content, bytes]);
    this.file.write(bytes);
    // It is the caller's again.
    bytes.fill(0xee);
    for (let at = start; at < this.content.length; at += PAGE) this.pages.add(Math.floor(at / PAGE));
    if (bytes.length > 0) this.pages.add(Math.floor((this.content.length - 1) / PAGE));
  }

  skip(length: number): void {
    this.skips++;
    this.content = Buffer.concat([this.content, Buffer.alloc(length)]);
    this.file.skip(length);
  }

  step(random: Random, bytes: RandomBytes): void {
    const length = random.chance(0.5) ? random.pick(LENGTHS) : random.below(300_000);
    if (random.chance(0.4)) this.skip(length);
    else this.write(bytes.next(length));
  }
}

function check(t: Test, { path, content, pages, skips }: Written, name: string): void {
  const { size, blocks } = statSync(path);
  t.equal(size, content.length, `${name}: size`);
  t.ok(readFileSync(path).equals(content), `${name}: content`);
  // The file system needs some blocks for itself.
  t.ok(blocks * 512 <= (pages.size + skips + 8) * PAGE, `${name}: no block for what was skipped`);
}

void t.test(`a file has what was written and skipped (seed ${seed})`, (t) => {
  const random = new Random(seed);
  const bytes = new RandomBytes(seed);
  const plain = plainDisk(t);
  if (plain === undefined) t.comment(NO_RAMFS);
  for (let count = 0; count < 24; count++) {
    const where = count % 4 === 1 ? (plain ?? folder) : folder;
    // The size is not known, more than it gets, or less.
    const size = [32 * MEBIBYTE, 32 * MEBIBYTE, 0, 2 * MEBIBYTE][count % 4] ?? 0;
    const written = new Written(join(where, `random-${count}`), size);
    for (let steps = random.below(14); steps > 0; steps--) {
      written.step(random, bytes);
      if (written.file.position !== written.content.length) t.fail(`position ${written.file.position}`);
    }
    written.file.finish(random.chance(0.5));
    check(t, written, `file ${count}`);
  }
  t.end();
});

void t.test('more files at a time than there are buffers', (t) => {
  const random = new Random(seed + 1);
  const bytes = new RandomBytes(seed + 1);
  const files = Array.from(
    { length: 12 },
    (_, count) => new Written(join(folder, `many-${count}`), MEBIBYTE),
  );
  for (let steps = 0; steps < 120; steps++) random.pick(files).step(random, bytes);
  for (const [count, written] of files.entries()) {
    written.file.finish(false);
    check(t, written, `file ${count}`);
  }
  const next = new Written(join(folder, 'next'), MEBIBYTE);
  next.write(bytes.next(5000));
  if (direct === false) t.ok(isDirect(next.path), 'afterwards there are buffers again');
  next.file.finish(false);
  check(t, next, 'the next');
  t.end();
});

void t.test('a large file takes no place in memory', { skip: direct }, (t) => {
  const written = new Written(join(folder, 'past'), 4 * MEBIBYTE);
  t.ok(isDirect(written.path));
  written.write(new RandomBytes(1).next(3 * MEBIBYTE + 5));
  written.file.finish(true);
  const fd = openSync(written.path, 'r');
  const cache = new PageCache();
  t.equal(cache.read(fd, 0, 10), undefined);
  t.equal(cache.read(fd, 3 * MEBIBYTE - 10, 10), undefined);
  closeSync(fd);
  check(t, written, 'it');
  const small = new Written(join(folder, 'small'), MEBIBYTE - 1);
  t.notOk(isDirect(small.path));
  small.file.discard();
  t.end();
});

void t.test('holes take no room, however long', (t) => {
  const path = join(folder, 'sparse');
  const size = 20 * 2 ** 30 + 5;
  const file = BulkFile.create(path, 0o644, size);
  file.skip(7 * 2 ** 30);
  file.write(Buffer.alloc(PAGE, 1));
  file.skip(13 * 2 ** 30 - PAGE);
  file.skip(5);
  t.equal(file.position, size);
  file.finish(true);
  t.equal(statSync(path).size, size);
  t.ok(statSync(path).blocks * 512 <= 16 * PAGE);
  t.end();
});

void t.test('permissions are what was asked for, and nobody looks in before', (t) => {
  const before = process.umask(0);
  t.teardown(() => process.umask(before));
  for (const mode of [0o666, 0o444, 0o4755, 0]) {
    for (const [mask, size] of [
      [0, 0],
      [0o077, MEBIBYTE],
    ] as const) {
      process.umask(mask);
      const path = join(folder, `mode-${mode}-${size}`);
      const file = BulkFile.create(path, mode, size);
      t.equal(statSync(path).mode & 0o7777, 0o600);
      file.write(Buffer.alloc(5));
      file.finish(false);
      t.equal(statSync(path).mode & 0o7777, mode);
    }
  }
  t.end();
});

void t.test('a name that is taken is not touched', (t) => {
  const path = join(folder, 'taken');
  writeFileSync(path, 'kept');
  t.throws(() => BulkFile.create(path, 0o644, 5), { code: 'EEXIST' });
  t.equal(readFileSync(path, 'utf8'), 'kept');
  t.throws(() => BulkFile.create(join(folder, 'missing', 'a'), 0o644, 5), { code: 'ENOENT' });
  t.throws(() => BulkFile.create(join(folder, 'huge'), 0o644, 2 ** 62), { code: 'ERR_OUT_OF_RANGE' });
  t.notOk(existsSync(join(folder, 'huge')), 'and what cannot be begun is not left');
  if (process.platform === 'linux') {
    t.equal(flagsOf(`${join(folder, 'huge')} (deleted)`), undefined, 'nor open');
  }
  t.end();
});

void t.test('nothing is left of what is discarded', (t) => {
  const steps = [0, 5, MEBIBYTE, 5 * MEBIBYTE + 5];
  for (const size of [0, 16 * MEBIBYTE]) {
    for (const length of steps) {
      for (const isFinished of [false, true]) {
        const path = join(folder, 'discarded');
        const file = BulkFile.create(path, 0o644, size);
        file.write(Buffer.alloc(length, 1));
        if (isFinished) file.finish(false);
        for (let times = 0; times < 2; times++) file.discard();
        t.notOk(existsSync(path));
        t.throws(() => {
          file.write(Buffer.alloc(1));
        }, /is closed/);
      }
    }
  }
  if (process.platform === 'linux') {
    t.equal(flagsOf(`${join(folder, 'discarded')} (deleted)`), undefined, 'nor open');
  }
  const files = Array.from({ length: 9 }, (_, count) => new Written(join(folder, `last-${count}`), MEBIBYTE));
  for (const { file } of files) file.write(Buffer.alloc(5));
  if (direct === false) t.equal(files.filter(({ path }) => isDirect(path)).length, 8, 'every buffer is back');
  for (const { file } of files) file.discard();
  t.end();
});

void t.test('a full disk is told, by whichever call', (t) => {
  const disk = smallDisk(t, 6000);
  if (disk === undefined) {
    t.pass(`# SKIP ${NO_MOUNT}`);
    t.end();
    return;
  }
  const { bavail } = statfsSync(disk);
  for (const size of [0, 20 * MEBIBYTE]) {
    for (const length of [7 * MEBIBYTE, 5 * MEBIBYTE + MEBIBYTE / 2 + 5, 30 * MEBIBYTE]) {
      const path = join(disk, 'full');
      const file = BulkFile.create(path, 0o644, size);
      file.skip(100 * MEBIBYTE);
      const write = (): void => {
        const piece = Buffer.alloc(100_000, 1);
        for (let written = 0; written < length + MEBIBYTE; written += piece.length) file.write(piece);
        file.finish(true);
      };
      t.throws(write, { message: /no space left/i });
      t.throws(
        () => {
          file.write(Buffer.alloc(1));
        },
        { message: /no space left/i },
        'again',
      );
      t.throws(
        () => {
          file.skip(1);
        },
        { message: /no space left/i },
      );
      t.throws(
        () => {
          file.finish(true);
        },
        { message: /no space left/i },
      );
      file.discard();
      t.same(readdirSync(disk), []);
      t.equal(statfsSync(disk).bavail, bavail);
    }
  }
  t.end();
});

void t.test('a write that fails while it is under way is told', { skip: direct }, (t) => {
  const disk = new HeldDisk(t);
  for (const count of [1, 3, 5]) {
    disk.fails('full', count);
    const file = BulkFile.create(join(folder, 'failing'), 0o644, 5 * MEBIBYTE);
    const write = (): void => {
      file.write(Buffer.alloc(5 * MEBIBYTE, 1));
      file.finish(false);
    };
    t.throws(write, { message: /no space left/i });
    file.discard();
  }
  disk.fails('full', 0);
  const written = new Written(join(folder, 'after'), 20 * MEBIBYTE);
  written.write(new RandomBytes(3).next(20 * MEBIBYTE));
  written.file.finish(false);
  check(t, written, 'the next');
  t.end();
});

void t.test('a disk that takes less than it is given is given the rest plainly', { skip: direct }, (t) => {
  type Write = DiskQueue['write'];
  const write: unknown = Reflect.get(DiskQueue.prototype, 'write');
  t.teardown(() => Reflect.set(DiskQueue.prototype, 'write', write));
  const refusal = Object.assign(new Error('no'), { code: 'EINVAL' });
  for (const way of ['short', 'refused', 'refused at once']) {
    let count = 0;
    Reflect.set(DiskQueue.prototype, 'write', function (this: DiskQueue, ...given: Parameters<Write>): void {
      const [fd, bytes, position, onWritten] = given;
      if (++count !== 2) (write as Write).apply(this, given);
      else if (way === 'refused at once') throw refusal;
      else {
        (write as Write).call(this, fd, bytes.subarray(0, PAGE), position, () => {
          onWritten(way === 'short' ? new Error('the disk took 4096 of 1048576 bytes') : refusal);
        });
      }
    });
    const written = new Written(join(folder, way), 20 * MEBIBYTE);
    for (let pieces = 0; pieces < 40; pieces++) written.write(new RandomBytes(pieces).next(400_000));
    written.file.finish(true);
    check(t, written, way);
  }
  t.end();
});

void t.test('a thread that dies while it writes does no harm', async (t) => {
  for (let count = 0; count < 4; count++) {
    const path = join(folder, `dying-${count}`);
    const worker = new Worker(
      `const { parentPort, workerData: { module, path } } = require('node:worker_threads');
      import(module).then(({ BulkFile }) => {
        const file = BulkFile.create(path, 0o644, 64 * 2 ** 20);
        file.write(Buffer.alloc(9 * 2 ** 20, 1));
        parentPort.postMessage('it is under way');
        for (;;) {
          if (file.position < 60 * 2 ** 20) file.write(Buffer.alloc(100_000, 2));
        }
      });`,
      { eval: true, workerData: { module: MODULE.href, path } },
    );
    await new Promise((resolve, reject) => {
      worker.once('message', resolve);
      worker.once('error', reject);
    });
    await worker.terminate();
    t.ok(existsSync(path));
    if (process.platform === 'linux') t.equal(flagsOf(path), undefined, 'it is not open');
  }
  const written = new Written(join(folder, 'alive'), 20 * MEBIBYTE);
  written.write(new RandomBytes(4).next(20 * MEBIBYTE));
  written.file.finish(true);
  check(t, written, 'the next');
});
