/** Files that are written without a copy in the system's memory. */
import { closeSync, constants, openSync, readFileSync, statSync, writeFileSync, writeSync } from 'node:fs';
import { join } from 'node:path';
import t from 'tap';
import { newSlabs, PAGE_LENGTH, SLAB_LENGTH, slabView } from '../../../src/base/memory/transfer-memory.js';
import { DirectFile } from '../../../src/files/transfer/direct-file.js';
import { Growth } from '../../../src/base/disk/disk-floor.js';
import { DiskQueue, type OnWritten } from '../../../src/base/disk/disk-queue.js';
import { PageCache } from '../../../src/files/downloads/file-reads.js';
import { slabBytes } from '../../../src/files/transfer/slabs.js';
import { hasDirectWrites, NO_DIRECT, NO_RAMFS, plainDisk } from '../../support/direct-disk.js';
import { RandomBytes } from '../../support/random.js';
import { scratchFolder } from '../../support/scratch.js';
import { fillDisk, NO_MOUNT, smallDisk } from '../../support/small-disk.js';

const MEBIBYTE = 1024 * 1024;
const folder = scratchFolder(t);
const skip = hasDirectWrites(folder) ? false : NO_DIRECT;
const memory = newSlabs();
const octets = slabBytes(memory);
const queue = DiskQueue.open(memory);
const growth = (): Growth => new Growth(folder);

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

void t.test(
  'a new file has room a step ahead of its bytes, and its bytes when they are written',
  { skip },
  (t) => {
    const { path, fd } = newFile('whole');
    const file = made(DirectFile.create(fd, 1000 * MEBIBYTE + 5, queue, growth()));
    const found = statSync(path);
    t.equal(found.size, MEBIBYTE, 'not the whole of what is announced');
    t.ok(found.blocks * 512 >= MEBIBYTE, 'and the disk has room for it');
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
  },
);

void t.test(
  'the room ahead is as much as has come, 64 MiB at most, and ends with the file',
  { skip },
  (t) => {
    const { path, fd } = newFile('steps');
    const size = 200 * MEBIBYTE + 5;
    const file = made(DirectFile.create(fd, size, queue, growth()));
    const page = slabView(octets, 0, 0, PAGE_LENGTH);
    const steps: number[] = [];
    for (let position = 0; position < size - PAGE_LENGTH; position += MEBIBYTE) {
      file.write(page, position, () => undefined);
      file.settle();
      const { size: length } = statSync(path);
      if (steps.at(-1) !== length) steps.push(length);
    }
    t.same(steps, [1, 2, 4, 8, 16, 32, 64, 128, 192].map((count) => count * MEBIBYTE).concat(size));
    t.end();
  },
);

void t.test('small content and content of unknown size are not written directly', { skip }, (t) => {
  const { path, fd } = newFile('small');
  t.equal(DirectFile.create(fd, undefined, queue, growth()), undefined);
  t.equal(DirectFile.create(fd, MEBIBYTE - 1, queue, growth()), undefined);
  t.equal(DirectFile.create(fd, MEBIBYTE, undefined, growth()), undefined);
  t.equal(DirectFile.append(fd, MEBIBYTE - 1, growth()), undefined);
  t.equal(statSync(path).size, 0);
  t.notOk(isDirect(fd));
  t.equal(DirectFile.create(-1, MEBIBYTE, queue, growth()), undefined, 'and neither is no file');
  made(DirectFile.create(fd, MEBIBYTE, queue, growth()));
  t.equal(statSync(path).size, MEBIBYTE);
  t.ok(isDirect(fd));
  t.end();
});

void t.test('a disk without room says so before it is written to', { skip }, (t) => {
  const disk = smallDisk(t, 2500);
  if (disk === undefined || !hasDirectWrites(disk)) {
    t.pass(`# SKIP ${disk === undefined ? NO_MOUNT : NO_DIRECT}`);
    t.end();
    return;
  }
  const { fd } = newFile('a', disk);
  const file = made(DirectFile.create(fd, 5 * MEBIBYTE, queue, new Growth(disk)));
  const page = slabView(octets, 0, 0, PAGE_LENGTH);
  t.throws(() => file.write(page, 4 * MEBIBYTE, () => undefined), { status: 507, message: /No space left/ });
  // Somebody else takes the room after it was looked for.
  fillDisk(disk, MEBIBYTE + 100_000);
  const blind = made(DirectFile.create(newFile('b', disk).fd, 5 * MEBIBYTE, queue, growth()));
  t.throws(() => blind.write(page, 4 * MEBIBYTE, () => undefined), { code: 'ENOSPC' });
  const none = newFile('c', disk);
  t.throws(() => DirectFile.create(none.fd, 5 * MEBIBYTE, queue, growth()), { code: 'ENOSPC' });
  t.notOk(isDirect(none.fd));
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
  t.equal(DirectFile.create(fd, MEBIBYTE, queue, growth()), undefined);
  t.equal(DirectFile.append(fd, MEBIBYTE, growth()), undefined);
  t.equal(statSync(path).size, 0);
  t.end();
});

void t.test('a file that is continued is as long as what it has at every moment', { skip }, (t) => {
  const begun = new RandomBytes(2).next(2 * PAGE_LENGTH);
  const { path, fd } = newFile('part', folder, begun);
  const file = made(DirectFile.append(fd, 5 * MEBIBYTE, growth()));
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
  const file = made(DirectFile.create(fd, MEBIBYTE, queue, growth()));
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
  const file = made(DirectFile.create(newFile('held').fd, MEBIBYTE, held as unknown as DiskQueue, growth()));
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
