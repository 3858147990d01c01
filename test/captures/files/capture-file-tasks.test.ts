import {
  appendFileSync,
  chmodSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  statSync,
  symlinkSync,
  truncateSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import t from 'tap';
import { refusals } from '../../../src/base/errors/errors.js';
import { captureFileTasks as tasks } from '../../../src/captures/files/capture-file-tasks.js';
import { CAPTURES } from '../../../src/lab/projects/folder-layout.js';
import { pcapFile } from '../../support/capture-samples.js';
import { scratchFolder, type Teardown } from '../../support/scratch.js';

const PACKETS = Array.from({ length: 30_000 }, (_, index) => ({
  ms: 1_000_000 + index,
  length: index % 200,
}));

function project(t: Teardown): { root: string; folder: string } {
  const root = scratchFolder(t);
  const folder = join(root, CAPTURES);
  mkdirSync(folder, { recursive: true });
  return { root, folder };
}

const names = (root: string): string[] => tasks.listCaptures({ root }).map(({ name }) => name);
const descriptors = (): number => readdirSync('/proc/self/fd').length;

void t.test('a project that was never captured has none', (t) => {
  t.same(tasks.listCaptures({ root: scratchFolder(t) }), []);
  t.end();
});

void t.test('regular files are listed by name, with what they are', (t) => {
  const { root, folder } = project(t);
  writeFileSync(join(folder, 'b.pcap'), pcapFile([], { linkType: 123 }));
  writeFileSync(join(folder, 'a'), 'no capture');
  writeFileSync(join(folder, 'empty'), '');
  mkdirSync(join(folder, 'folder'));
  symlinkSync('/etc/passwd', join(folder, 'planted'));
  symlinkSync('a', join(folder, 'alias'));
  t.match(tasks.listCaptures({ root }), [
    { name: 'a', size: 10, format: 'unknown', linkType: null },
    { name: 'b.pcap', size: 24, format: 'pcap', linkType: 123 },
    { name: 'empty', size: 0, format: 'unknown' },
  ]);
  t.equal(names(root).length, 3);
  t.end();
});

void t.test('a folder of captures that leads elsewhere is not entered', (t) => {
  const root = scratchFolder(t);
  const elsewhere = project(t);
  writeFileSync(join(elsewhere.folder, 'secret'), 'x');
  mkdirSync(join(root, 'project-files'));
  symlinkSync(elsewhere.folder, join(root, CAPTURES));
  t.throws(() => names(root), refusals.fileForbidden());
  t.throws(
    () => tasks.removeCaptures({ root, files: [{ name: 'secret', version: '' }] }),
    refusals.fileForbidden(),
  );
  t.throws(() => tasks.countCapture({ root, name: 'secret' }), refusals.fileForbidden());
  t.ok(existsSync(join(elsewhere.folder, 'secret')));
  t.end();
});

void t.test('the packets of a file that is larger than the window are counted', (t) => {
  const { root, folder } = project(t);
  const before = descriptors();
  const bytes = pcapFile(PACKETS);
  t.ok(bytes.length > 3 * 1024 * 1024);
  writeFileSync(join(folder, 'large'), bytes);
  t.same(tasks.countCapture({ root, name: 'large' }), {
    packets: PACKETS.length,
    octets: PACKETS.reduce((sum, { length }) => sum + length + 10, 0),
    firstAt: 1_000_000,
    lastAt: 1_000_000 + PACKETS.length - 1,
    end: bytes.length,
  });
  truncateSync(join(folder, 'large'), bytes.length - 1);
  t.equal(tasks.countCapture({ root, name: 'large' }).packets, PACKETS.length - 1);
  t.throws(() => tasks.countCapture({ root, name: 'missing' }), { code: 'ENOENT' });
  t.throws(() => tasks.countCapture({ root, name: '../../..' }), refusals.fileForbidden());
  t.equal(descriptors(), before);
  t.end();
});

void t.test('a file of which the packets are known is not read again, unless it has changed', (t) => {
  const { root, folder } = project(t);
  const bytes = pcapFile(PACKETS.slice(0, 3));
  writeFileSync(join(folder, 'one'), bytes);
  const [facts] = tasks.listCaptures({ root });
  const span = { packets: 7, octets: 8, firstAt: 9, lastAt: 10, end: bytes.length };
  const find = (version: string) =>
    tasks.findEarlierPart({
      ...{ root, names: ['one'], format: 'pcap', header: bytes.subarray(0, 24) },
      counted: [
        { name: 'other', version, span: { ...span, packets: 1 } },
        { name: 'one', version, span },
      ],
    });
  t.match(find(facts?.version ?? ''), { packets: 7, octets: 8, lastAt: 10, file: { end: bytes.length } });
  t.match(find('another'), { packets: 3 });
  t.end();
});

void t.test('only what is still the same file is removed', (t) => {
  const { root, folder } = project(t);
  for (const name of ['same', 'grown', 'replaced', 'gone']) writeFileSync(join(folder, name), name);
  const files = tasks.listCaptures({ root });
  appendFileSync(join(folder, 'grown'), 'more');
  writeFileSync(join(folder, 'new'), 'replaced');
  renameSync(join(folder, 'new'), join(folder, 'replaced'));
  renameSync(join(folder, 'gone'), join(root, 'gone'));
  t.same(tasks.removeCaptures({ root, files }), ['same']);
  t.same(readdirSync(folder).sort(), ['grown', 'replaced']);
  t.end();
});

/** As a writer leaves them that is ended in the middle of a record. */
const UNFINISHED = 0o1644;

void t.test(
  'a file that was being written loses the record that is not whole, others are left as they are',
  (t) => {
    const { root, folder } = project(t);
    const whole = pcapFile(PACKETS.slice(0, 100));
    const write = (name: string, bytes: Uint8Array, mode: number): string => {
      const path = join(folder, name);
      writeFileSync(path, bytes);
      chmodSync(path, mode);
      return path;
    };
    const cut = write('cut.pcap', whole.subarray(0, whole.length - 3), UNFINISHED);
    const good = write('good.pcap', whole, UNFINISHED);
    const finished = write('finished.pcap', whole.subarray(0, whole.length - 3), 0o644);
    const foreign = write('notes.txt', Buffer.from('no capture'), UNFINISHED);
    symlinkSync(foreign, join(folder, 'link.pcap'));
    mkdirSync(join(folder, 'sticky'), { mode: 0o1755 });
    const last = PACKETS[99]?.length ?? 0;
    const recorded = { cut: 99, good: 100, notes: 0 };
    for (const [time, wanted] of [['once', recorded] as const, ['and again', {}] as const]) {
      const mended = tasks.mendCaptures({ root });
      const packets = mended.map(({ name, span }) => [name.split('.')[0], span.packets]);
      t.same(Object.fromEntries(packets), wanted, time);
      t.same(readFileSync(cut), whole.subarray(0, whole.length - 16 - last), time);
      t.same(readFileSync(good), whole);
      t.same(readFileSync(finished), whole.subarray(0, whole.length - 3));
      t.equal(readFileSync(foreign, 'utf8'), 'no capture');
      for (const path of [cut, good, foreign]) t.equal(statSync(path).mode & 0o7777, 0o644);
    }
    tasks.mendCaptures({ root: scratchFolder(t) });
    t.end();
  },
);
