import {
  closeSync,
  existsSync,
  lstatSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  readSync,
  renameSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import t, { type Test } from 'tap';
import { ringName } from '../../../src/captures/capture-settings.js';
import { createFirst, createNext, realFolder } from '../../../src/captures/writing/ring-files.js';
import { refusals } from '../../../src/base/errors/errors.js';
import { scratchFolder } from '../../support/scratch.js';
import { fillDisk, NO_MOUNT, smallDisk } from '../../support/small-disk.js';

const HEADER = Buffer.from('the header');
const NAME = 'project-files/captures/a.pcap';

class Ring {
  readonly folder: string;
  readonly captures: string;
  readonly place;
  readonly fds: number[] = [];

  constructor(t: Test, files: number, folder = scratchFolder(t)) {
    this.folder = folder;
    this.captures = join(this.folder, 'project-files', 'captures');
    this.place = { folder: this.folder, name: NAME, files };
    t.teardown(() => {
      this.fds.forEach((fd) => {
        closeSync(fd);
      });
    });
  }

  /** Each file says which one it is. */
  first(header = 'file 0'): number {
    const fd = createFirst(this.place, Buffer.from(header));
    this.fds.push(fd);
    return fd;
  }

  next(): number {
    const fd = createNext(this.place, Buffer.from(`file ${this.fds.length}`), this.fds.at(-1) ?? -1);
    this.fds.push(fd);
    return fd;
  }

  contents(): Record<string, string> {
    const names = readdirSync(this.captures).sort();
    return Object.fromEntries(names.map((name) => [name, readFileSync(join(this.captures, name), 'utf8')]));
  }
}

function contentOf(fd: number): string {
  const bytes = Buffer.alloc(100);
  return bytes.toString('utf8', 0, readSync(fd, bytes, 0, 100, 0));
}

void t.test('names of a ring', (t) => {
  t.equal(ringName('a.b.pcapng', 0), 'a.b.pcapng');
  t.equal(ringName('a.b.pcapng', 12), 'a.b.12.pcapng');
  t.equal(ringName('capture', 1), 'capture.1');
  t.end();
});

void t.test('a file appears with its header, and folders with it', (t) => {
  const ring = new Ring(t, 1);
  const fd = ring.first();
  t.same(ring.contents(), { 'a.pcap': 'file 0' });
  t.equal(contentOf(fd), 'file 0', 'it is for both ways');
  t.equal(realFolder(ring.place), ring.captures);
  t.same(readdirSync(join(ring.folder, 'tmp')), []);
  t.end();
});

void t.test('a reader of the old file goes on with it', (t) => {
  const ring = new Ring(t, 1);
  const old = ring.first('old');
  ring.first('new');
  t.same(ring.contents(), { 'a.pcap': 'new' });
  t.equal(contentOf(old), 'old');
  t.end();
});

void t.test('a ring keeps the youngest, and begins without those of an earlier one', (t) => {
  const ring = new Ring(t, 3);
  mkdirSync(ring.captures, { recursive: true });
  for (const name of ['a.1.pcap', 'a.2.pcap', 'a.3.pcap', 'b.pcap']) {
    writeFileSync(join(ring.captures, name), name);
  }
  ring.first();
  const rest = { 'a.3.pcap': 'a.3.pcap', 'b.pcap': 'b.pcap' };
  t.same(ring.contents(), { ...rest, 'a.pcap': 'file 0' }, 'what is not of this ring stays');
  ring.next();
  t.same(ring.contents(), { ...rest, 'a.pcap': 'file 1', 'a.1.pcap': 'file 0' });
  for (let count = 0; count < 5; count++) ring.next();
  t.same(ring.contents(), { ...rest, 'a.pcap': 'file 6', 'a.1.pcap': 'file 5', 'a.2.pcap': 'file 4' });
  t.end();
});

void t.test('a rotation that was interrupted is done again without losing a file', (t) => {
  // The steps that had been done before: renames of the oldest first, then the new file's.
  for (const steps of [1, 2, 3]) {
    const ring = new Ring(t, 4);
    ring.first();
    ring.next();
    ring.next();
    const done = [
      ['a.2.pcap', 'a.3.pcap'],
      ['a.1.pcap', 'a.2.pcap'],
      ['a.pcap', 'a.1.pcap'],
    ].slice(0, steps);
    for (const [from = '', to = ''] of done) renameSync(join(ring.captures, from), join(ring.captures, to));
    ring.next();
    const found = ring.contents();
    t.equal(found['a.pcap'], 'file 3');
    t.same(Object.values(found).sort(), ['file 0', 'file 1', 'file 2', 'file 3'], `after ${steps} steps`);
  }
  const ring = new Ring(t, 3);
  const first = ring.first();
  ring.next();
  const again = createNext(ring.place, Buffer.from('file 1'), first);
  ring.fds.push(again);
  t.same(
    ring.contents(),
    { 'a.pcap': 'file 1', 'a.1.pcap': 'file 0' },
    'one that was not told takes its place',
  );
  t.end();
});

void t.test('nothing is written outside of the folder, whatever has been planted', (t) => {
  const ring = new Ring(t, 2);
  const outside = scratchFolder(t);
  const victim = join(outside, 'victim');
  writeFileSync(victim, 'precious');
  mkdirSync(ring.captures, { recursive: true });
  symlinkSync(victim, join(ring.captures, 'a.pcap'));
  ring.first();
  t.notOk(lstatSync(join(ring.captures, 'a.pcap')).isSymbolicLink(), 'the link is replaced');
  symlinkSync(victim, join(ring.captures, 'a.1.pcap'));
  ring.next();
  t.same(ring.contents(), { 'a.pcap': 'file 1', 'a.1.pcap': 'file 0' });

  renameSync(ring.captures, join(ring.folder, 'moved'));
  symlinkSync(outside, ring.captures);
  t.throws(() => ring.next(), refusals.fileForbidden());
  t.throws(() => ring.first(), refusals.fileForbidden());
  for (const name of ['../a.pcap', '/etc/a.pcap', '..', '.', '', 'a\0b', 'x/../../a.pcap']) {
    t.throws(() => createFirst({ ...ring.place, name }, HEADER), refusals.fileForbidden(), name);
  }
  t.same(readdirSync(outside), ['victim']);
  t.equal(readFileSync(victim, 'utf8'), 'precious');

  const other = new Ring(t, 1);
  symlinkSync(outside, join(other.folder, 'tmp'));
  t.throws(() => other.first(), refusals.fileForbidden());
  t.same(readdirSync(outside), ['victim']);
  t.end();
});

void t.test('a folder is not replaced', (t) => {
  const ring = new Ring(t, 1);
  mkdirSync(join(ring.captures, 'a.pcap', 'inside'), { recursive: true });
  t.throws(() => ring.first(), refusals.isDirectory('a.pcap'));
  t.ok(existsSync(join(ring.captures, 'a.pcap', 'inside')));
  t.end();
});

void t.test('nothing is left of a file that has no room for its header, and the one before stays', (t) => {
  const disk = smallDisk(t, 200);
  if (disk === undefined) {
    t.pass(`# SKIP ${NO_MOUNT}`);
    t.end();
    return;
  }
  const ring = new Ring(t, 2, disk);
  ring.first();
  fillDisk(disk, 0);
  const descriptors = readdirSync('/proc/self/fd').length;
  t.throws(() => ring.first(), { code: 'ENOSPC' });
  t.throws(() => ring.next(), { code: 'ENOSPC' });
  t.equal(readdirSync('/proc/self/fd').length, descriptors);
  t.same(readdirSync(join(disk, 'tmp')), []);
  t.same(ring.contents(), { 'a.pcap': 'file 0' });
  t.end();
});
