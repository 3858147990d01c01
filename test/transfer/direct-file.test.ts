/** Files that are written without a copy in the system's memory. */
import { closeSync, constants, openSync, readFileSync, statSync, writeFileSync, writeSync } from 'node:fs';
import { join } from 'node:path';
import t from 'tap';
import { newSlabs, PAGE_LENGTH, SLAB_LENGTH, slabView } from '../../src/memory/transfer-memory.js';
import { DirectFile } from '../../src/transfer/direct-file.js';
import { DiskQueue, type OnWritten } from '../../src/storage/disk-queue.js';
import { PageCache } from '../../src/transfer/page-cache.js';
import { slabOctets } from '../../src/transfer/slab-octets.js';
import { hasDirectWrites, NO_DIRECT, NO_RAMFS, plainDisk } from '../support/direct-disk.js';
import { RandomBytes } from '../support/random.js';
import { scratchFolder } from '../support/scratch.js';
import { NO_MOUNT, smallDisk } from '../support/small-disk.js';

const MEBIBYTE = 1024 * 1024;
const folder = scratchFolder(t);
const skip = hasDirectWrites(folder) ? false : NO_DIRECT;
const memory = newSlabs();
const octets = slabOctets(memory);
const queue = DiskQueue.open(memory);

function newFile(
  name: string,
  where = folder,
  content: Uint8Array = Buffer.alloc(0),
): { path: string; fd: number } {
  const path = join(where, name);
  writeFileSync(path, content);
  const fd = openSync(path, 'r+');
  t.teardown(() => {
    closeSync(fd);
  });
  return { path, fd };
}

function made(file: DirectFile | undefined): DirectFile {
  if (file === undefined) throw new Error('it cannot be written so');
  return file;
}

/** Whether the system copies nothing of what is written to it. */
function isDirect(fd: number): boolean {
  const flags = /^flags:\s+(\d+)/m.exec(readFileSync(`/proc/self/fdinfo/${fd}`, 'utf8'))?.[1] ?? '0';
  return (parseInt(flags, 8) & constants.O_DIRECT) !== 0;
}

/** Writes under way until the test says so. */
class HeldQueue {
  readonly held: OnWritten[] = [];
  reaped = 0;
  refusal: Error | undefined;

  write(_fd: number, _bytes: Uint8Array, _position: number, onWritten: OnWritten): void {
    if (this.refusal !== undefined) throw this.refusal;
    this.held.push(onWritten);
  }

  /** One is over every third time. */
  reap(): void {
    if (++this.reaped % 3 === 0) this.held.shift()?.();
  }
}

void t.test('a new file has its whole length at once, and its bytes when they are written', { skip }, (t) => {
  const { path, fd } = newFile('whole');
  const size = 3 * SLAB_LENGTH + MEBIBYTE + 5;
  const file = made(DirectFile.create(fd, size, queue));
  const found = statSync(path);
  t.equal(found.size, size);
  t.ok(found.blocks * 512 >= size, 'and the disk has room for it');
  const bytes = new RandomBytes(1).next(3 * SLAB_LENGTH);
  let written = 0;
  for (let slab = 0; slab < 3; slab++) {
    const view = slabView(octets, slab);
    view.set(bytes.subarray(slab * SLAB_LENGTH, (slab + 1) * SLAB_LENGTH));
    const isUnderWay = file.write(view, slab * SLAB_LENGTH, (error) => {
      t.equal(error, undefined);
      written++;
    });
    t.ok(isUnderWay);
  }
  file.settle();
  t.equal(written, 3);
  file.becomeOrdinary();
  t.equal(new PageCache().read(fd, 0, 10), undefined, 'it takes no place in memory');
  t.ok(readFileSync(path).subarray(0, bytes.length).equals(bytes));
  t.end();
});

void t.test('what is small or of unknown size is not written so', { skip }, (t) => {
  const { path, fd } = newFile('small');
  t.equal(DirectFile.create(fd, undefined, queue), undefined);
  t.equal(DirectFile.create(fd, MEBIBYTE - 1, queue), undefined);
  t.equal(DirectFile.create(fd, MEBIBYTE, undefined), undefined);
  t.equal(DirectFile.append(fd, MEBIBYTE - 1), undefined);
  t.equal(statSync(path).size, 0);
  t.notOk(isDirect(fd));
  t.equal(DirectFile.create(-1, MEBIBYTE, queue), undefined, 'and neither is no file');
  made(DirectFile.create(fd, MEBIBYTE, queue));
  t.equal(statSync(path).size, MEBIBYTE);
  t.ok(isDirect(fd));
  t.end();
});

void t.test('a disk without room says so before anything is written', { skip }, (t) => {
  const disk = smallDisk(t, 4000);
  if (disk === undefined || !hasDirectWrites(disk)) {
    t.pass(`# SKIP ${disk === undefined ? NO_MOUNT : NO_DIRECT}`);
    t.end();
    return;
  }
  const { fd } = newFile('a', disk);
  t.throws(() => DirectFile.create(fd, 5 * MEBIBYTE, queue), { code: 'ENOSPC' });
  t.notOk(isDirect(fd));
  t.end();
});

void t.test('a file system without such writes is no trouble', { skip }, (t) => {
  const disk = plainDisk(t);
  if (disk === undefined) {
    t.pass(`# SKIP ${NO_RAMFS}`);
    t.end();
    return;
  }
  const { path, fd } = newFile('a', disk);
  t.equal(DirectFile.create(fd, MEBIBYTE, queue), undefined);
  t.equal(DirectFile.append(fd, MEBIBYTE), undefined);
  t.equal(statSync(path).size, 0);
  t.end();
});

void t.test('a file that is continued is as long as what it has at every moment', { skip }, (t) => {
  const begun = new RandomBytes(2).next(2 * PAGE_LENGTH);
  const { path, fd } = newFile('part', folder, begun);
  const file = made(DirectFile.append(fd, 5 * MEBIBYTE));
  const bytes = new RandomBytes(3).next(2 * SLAB_LENGTH);
  const told = (): void => {
    t.fail('it is written when it is given');
  };
  for (let slab = 0; slab < 2; slab++) {
    slabView(octets, slab).set(bytes.subarray(slab * SLAB_LENGTH, (slab + 1) * SLAB_LENGTH));
    const position = begun.length + slab * SLAB_LENGTH;
    t.notOk(file.write(slabView(octets, slab), position, told));
    t.equal(statSync(path).size, position + SLAB_LENGTH);
  }
  file.becomeOrdinary();
  t.equal(new PageCache().read(fd, begun.length, 10), undefined, 'it takes no place in memory');
  t.ok(readFileSync(path).equals(Buffer.concat([begun, bytes])));
  t.end();
});

void t.test('only whole pages are written so, until there is something else', { skip }, (t) => {
  const { path, fd } = newFile('pages');
  const file = made(DirectFile.create(fd, MEBIBYTE, queue));
  const page = slabView(octets, 0, 0, PAGE_LENGTH);
  t.ok(file.takes(page, 0));
  t.ok(file.takes(slabView(octets, 0), 7 * PAGE_LENGTH));
  t.notOk(file.takes(page.subarray(1), 0));
  t.notOk(file.takes(slabView(octets, 0, 0, PAGE_LENGTH + 512), 0));
  for (const position of [1, 512, PAGE_LENGTH - 1]) t.notOk(file.takes(page, position));
  t.throws(() => writeSync(fd, Buffer.from('odd'), 0, 3, 5), { code: 'EINVAL' });
  page.fill(7);
  file.write(page, 0, () => undefined);
  for (let times = 0; times < 2; times++) file.becomeOrdinary();
  t.notOk(isDirect(fd));
  t.notOk(file.takes(page, PAGE_LENGTH));
  writeSync(fd, Buffer.from('odd'), 0, 3, PAGE_LENGTH + 5);
  file.settle();
  const expected = Buffer.alloc(PAGE_LENGTH + 8, 7).fill(0, PAGE_LENGTH);
  expected.write('odd', PAGE_LENGTH + 5);
  t.ok(readFileSync(path).subarray(0, expected.length).equals(expected), 'what was under way is there, too');
  t.end();
});

void t.test('settling waits for what is under way', { skip }, (t) => {
  const held = new HeldQueue();
  const file = made(DirectFile.create(newFile('held').fd, MEBIBYTE, held as unknown as DiskQueue));
  const page = slabView(octets, 0, 0, PAGE_LENGTH);
  let written = 0;
  const note = (): void => {
    written++;
  };
  file.write(page, 0, note);
  file.write(page, PAGE_LENGTH, note);
  file.settle();
  t.equal(written, 2);
  t.equal(held.reaped, 6);
  file.write(page, 0, note);
  held.refusal = new Error('no room');
  t.throws(() => file.write(page, 0, note), /no room/);
  file.settle();
  t.equal(written, 3, 'and what could not begin is not waited for');
  t.end();
});
