/** A stream of bytes on its way into a file, compared with the file that may have them already. */
import { createHash } from 'node:crypto';
import {
  closeSync,
  fstatSync,
  linkSync,
  openSync,
  readFileSync,
  statSync,
  truncateSync,
  utimesSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import t from 'tap';
import { refusals } from '../../../src/base/errors/errors.js';
import { newSlabs, SLAB_LENGTH, slabView } from '../../../src/base/memory/transfer-memory.js';
import { openRegularFile } from '../../../src/base/disk/regular-file.js';
import { ContentWriter } from '../../../src/files/transfer/content-writer.js';
import { DirectFile } from '../../../src/files/transfer/direct-file.js';
import { Growth } from '../../../src/base/disk/disk-floor.js';
import { DiskQueue } from '../../../src/base/disk/disk-queue.js';
import { slabBytes } from '../../../src/files/transfer/slabs.js';
import { RandomBytes } from '../../support/random.js';
import { scratchFolder, type Teardown } from '../../support/scratch.js';
import { hashOf } from '../../support/upload-rig.js';

const MEBIBYTE = 1024 * 1024;

interface Writing {
  readonly writer: ContentWriter;
  readonly path: string;
  readonly present: string;
  /** Gives it the bytes in slabs; returns how often it was to be called again. */
  readonly takeAll: (bytes: Uint8Array) => number;
  readonly octets: () => number;
}

function begin(t: Teardown, there?: Uint8Array): Writing {
  const folder = scratchFolder(t);
  const path = join(folder, 'new');
  const present = join(folder, 'present');
  const fd = openSync(path, 'wx+');
  t.teardown(() => {
    closeSync(fd);
  });
  if (there !== undefined) writeFileSync(present, there);
  const opened = there === undefined ? undefined : openRegularFile(present);
  const writer = new ContentWriter(fd, 0, ['sha-256'], { present: opened });
  t.teardown(() => {
    writer.close();
  });
  return {
    writer,
    path,
    present,
    takeAll(bytes) {
      let again = 0;
      for (let start = 0; start < bytes.length; start += SLAB_LENGTH) {
        while (!writer.take(bytes.subarray(start, start + SLAB_LENGTH), noted)) again++;
      }
      return again;
    },
    octets: () => fstatSync(fd).size,
  };
}

/** Ignores the end of a write: bytes that are not under way are written when the content is taken. */
const noted = (): void => undefined;

const content = (seed: number, length: number): Buffer => new RandomBytes(seed).next(length);

void t.test('bytes are written where they belong, with every digest there is', (t) => {
  const path = join(scratchFolder(t), 'file');
  const bytes = content(1, 700_001);
  const fd = openSync(path, 'wx+');
  const names = ['md5', 'sha', 'sha-256', 'sha-512'] as const;
  const writer = new ContentWriter(fd, 0, names);
  for (const [start, end] of [
    [0, 1],
    [1, 300_000],
    [300_000, 300_000],
    [300_000, 700_001],
  ] as const)
    t.ok(writer.take(bytes.subarray(start, end), noted));
  const { content: written, unchanged } = writer.finish();
  t.equal(written.size, bytes.length);
  t.same(written.digests, Object.fromEntries(names.map((name) => [name, hashOf(name, bytes)])));
  t.equal(unchanged, undefined);
  writer.close();
  t.ok(readFileSync(path).equals(bytes));
  t.ok(fstatSync(fd).isFile(), 'the file stays open');
  closeSync(fd);
  t.end();
});

void t.test('bytes from shared memory are digested as they are written', (t) => {
  const { writer, path } = begin(t);
  const shared = new Uint8Array(new SharedArrayBuffer(1000));
  shared.set(content(2, 1000));
  writer.take(shared, noted);
  const { digests } = writer.finish().content;
  t.equal(digests['sha-256'], createHash('sha256').update(readFileSync(path)).digest('hex'));
  t.ok(readFileSync(path).equals(shared.slice()));
  t.end();
});

void t.test('a file is continued behind what it has, and only what is new is digested', (t) => {
  const path = join(scratchFolder(t), 'part');
  writeFileSync(path, 'begun ');
  const fd = openSync(path, 'r+');
  const writer = new ContentWriter(fd, 6, ['sha']);
  writer.take(Buffer.from('and ended'), noted);
  const { content: written } = writer.finish();
  t.same(written, { size: 9, digests: { sha: hashOf('sha', Buffer.from('and ended')) } });
  t.equal(readFileSync(path, 'utf8'), 'begun and ended');
  closeSync(fd);
  t.end();
});

void t.test('nothing at all is a content, too', (t) => {
  const { writer } = begin(t);
  t.same(writer.finish().content, { size: 0, digests: { 'sha-256': hashOf('sha-256', Buffer.alloc(0)) } });
  t.end();
});

void t.test('content that is there already is not written', (t) => {
  const bytes = content(3, 3 * SLAB_LENGTH + 5);
  const { writer, takeAll, octets, present } = begin(t, bytes);
  t.equal(takeAll(bytes), 0);
  const { content: written, unchanged } = writer.finish();
  t.equal(octets(), 0);
  const { version, fd } = openRegularFile(present);
  closeSync(fd);
  t.equal(unchanged, version);
  t.equal(written.size, bytes.length);
  t.equal(written.digests['sha-256'], hashOf('sha-256', bytes));
  t.end();
});

const LENGTH = 9 * MEBIBYTE + 123;
for (const [name, place] of Object.entries({
  'the first byte': 0,
  'the last byte of a slab': SLAB_LENGTH - 1,
  'the first byte of the second slab': SLAB_LENGTH,
  'a byte somewhere': 5_000_001,
  'the last byte': LENGTH - 1,
})) {
  void t.test(`content that differs in ${name} is written whole`, (t) => {
    const bytes = content(4, LENGTH);
    const other = Buffer.from(bytes);
    other[place] = (other[place] ?? 0) ^ 1;
    const { writer, takeAll, path, present } = begin(t, other);
    const again = takeAll(bytes);
    // No call copies more than 4 MiB of what has been compared.
    t.ok(again >= Math.ceil(place / (4 * MEBIBYTE)) - 1, `it was called again ${again} times`);
    t.ok(place < 5 * MEBIBYTE || again > 0);
    const { content: written, unchanged } = writer.finish();
    t.equal(unchanged, undefined);
    t.equal(written.digests['sha-256'], hashOf('sha-256', bytes));
    t.equal(written.size, LENGTH);
    t.ok(readFileSync(path).equals(bytes));
    t.ok(readFileSync(present).equals(other), 'and the other one is as it was');
    t.end();
  });
}

void t.test('a file that is shorter than what comes is no match', (t) => {
  const bytes = content(5, 2 * SLAB_LENGTH + 10);
  const { writer, takeAll, path } = begin(t, bytes.subarray(0, -5));
  takeAll(bytes);
  t.equal(writer.finish().unchanged, undefined);
  t.ok(readFileSync(path).equals(bytes));
  t.end();
});

void t.test('nothing is made of a file that somebody changes while it is compared', (t) => {
  const bytes = content(6, 3 * SLAB_LENGTH);
  const first = bytes.subarray(0, SLAB_LENGTH);
  const changes: Record<string, (path: string) => void> = {
    'cut short': (path) => {
      truncateSync(path, 10);
    },
    overwritten: (path) => {
      writeFileSync(path, Buffer.alloc(bytes.length), { flag: 'r+' });
      utimesSync(path, 1, 1);
    },
  };
  for (const [name, change] of Object.entries(changes)) {
    const { writer, present, takeAll } = begin(t, bytes);
    writer.take(first, noted);
    change(present);
    t.throws(() => takeAll(bytes.subarray(SLAB_LENGTH)), refusals.uploadOvertaken(), name);
  }
  t.end();
});

void t.test('the copied part of a file is the compared part, whatever its times say', (t) => {
  const bytes = content(7, 3 * SLAB_LENGTH);
  const { writer, present, takeAll, path } = begin(t, bytes);
  utimesSync(present, 1, 1);
  const other = Buffer.from(bytes);
  other[2 * SLAB_LENGTH] = (other[2 * SLAB_LENGTH] ?? 0) ^ 1;
  writer.take(other.subarray(0, 2 * SLAB_LENGTH), noted);
  linkSync(present, `${present} too`);
  takeAll(other.subarray(2 * SLAB_LENGTH));
  t.ok(readFileSync(path).equals(other), 'another name is no other content');
  t.end();
});

void t.test('the earlier file is closed, once', (t) => {
  const folder = scratchFolder(t);
  const path = join(folder, 'present');
  writeFileSync(path, 'x');
  const fd = openSync(join(folder, 'new'), 'wx+');
  const present = openRegularFile(path);
  const writer = new ContentWriter(fd, 0, [], { present });
  writer.close();
  t.throws(() => fstatSync(present.fd), { code: 'EBADF' });
  writer.close();
  t.ok(statSync(path).isFile());
  t.ok(fstatSync(fd).isFile());
  closeSync(fd);
  t.end();
});

void t.test('bytes are needed until they are written, and not a moment longer', (t) => {
  const memory = newSlabs();
  const queue = DiskQueue.open(memory);
  const slab = slabView(slabBytes(memory), 3);
  const bytes = content(8, 2 * MEBIBYTE);
  const ways: Record<string, (fd: number) => DirectFile | undefined> = {
    buffered: () => undefined,
    'direct, waited for': (fd) => DirectFile.append(fd, bytes.length, new Growth('/')),
    'direct, by the disk itself': (fd) => DirectFile.create(fd, bytes.length, queue, new Growth('/')),
  };
  for (const [name, way] of Object.entries(ways)) {
    const path = join(scratchFolder(t), 'file');
    const fd = openSync(path, 'wx+');
    const writer = new ContentWriter(fd, 0, ['sha-256'], { direct: way(fd) });
    for (let start = 0; start < bytes.length; start += SLAB_LENGTH) {
      slab.set(bytes.subarray(start, start + SLAB_LENGTH));
      const state = { isWritten: false };
      t.ok(
        writer.take(slab, () => {
          state.isWritten = true;
          // The next bytes come into the same place.
          slab.fill(0);
        }),
      );
      while (!state.isWritten) queue?.reap(true);
    }
    t.equal(writer.finish().content.digests['sha-256'], hashOf('sha-256', bytes), name);
    writer.close();
    t.ok(readFileSync(path).equals(bytes), name);
    closeSync(fd);
  }
  t.end();
});
