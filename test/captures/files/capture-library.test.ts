/** Which capture files are known, and which may go. */
import { mkdirSync, truncateSync, utimesSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import t from 'tap';
import { refusals } from '../../../src/base/errors/errors.js';
import { captureFileTasks, type CaptureFileTasks } from '../../../src/captures/files/capture-file-tasks.js';
import { CaptureLibrary, type RunningCaptureFile } from '../../../src/captures/files/capture-library.js';
import type { TaskRunner } from '../../../src/base/threads/task-pool.js';
import { CAPTURES } from '../../../src/lab/projects/folder-layout.js';
import { pcapFile } from '../../support/capture-samples.js';
import { scratchFolder, type Teardown } from '../../support/scratch.js';

const PACKETS = [
  { ms: 1_000_000, length: 10 },
  { ms: 2_000_000, length: 10 },
];

interface Rig {
  readonly captures: CaptureLibrary;
  readonly home: { id: string; place: { folder: string } };
  readonly running: RunningCaptureFile[];
  readonly asked: string[];
  /** Called before each task. */
  before: (task: string) => void;
  readonly write: (name: string, ageSeconds?: number) => void;
}

/** The tasks are real, the thread is this one. */
function rig(t: Teardown): Rig {
  const root = scratchFolder(t);
  const folder = join(root, CAPTURES);
  mkdirSync(folder, { recursive: true });
  const running: RunningCaptureFile[] = [];
  const asked: string[] = [];
  const files = {
    run: async (task: keyof typeof captureFileTasks, input: never) => {
      await Promise.resolve();
      made.before(String(task));
      asked.push(String(task));
      return captureFileTasks[task]?.(input);
    },
  };
  const made: Rig = {
    captures: new CaptureLibrary(files as unknown as TaskRunner<CaptureFileTasks>, (id) =>
      id === 'project' ? running : [],
    ),
    home: { id: 'project', place: { folder: root } },
    running,
    asked,
    before: () => undefined,
    write: (name, ageSeconds = 0) => {
      writeFileSync(join(folder, name), pcapFile(PACKETS));
      const time = Date.now() / 1000 - ageSeconds;
      utimesSync(join(folder, name), time, time);
    },
  };
  return made;
}

const capture = (name: string): RunningCaptureFile => ({
  name,
  linkId: 'link',
  packets: 7,
  wholeBytes: 90,
  firstAt: 3_000_000,
  lastAt: null,
});
const wanted = (): boolean => true;

void t.test('finished files are counted, running ones tell', async (t) => {
  const { captures, home, running, write } = rig(t);
  write('a.pcap');
  write('b.pcap');
  running.push(capture('b.pcap'));
  const shown = { format: 'pcap', link_type: 1, size: 24 + 2 * 26 };
  t.match(await captures.list(home, wanted), [
    {
      ...shown,
      name: 'a.pcap',
      state: 'finished',
      link_id: null,
      packets: 2,
      first_packet_at: '1970-01-01T00:16:40.000Z',
      last_packet_at: '1970-01-01T00:33:20.000Z',
    },
    {
      ...shown,
      name: 'b.pcap',
      state: 'running',
      link_id: 'link',
      packets: 7,
      first_packet_at: '1970-01-01T00:50:00.000Z',
      last_packet_at: null,
    },
  ]);
});

void t.test('a file is counted once, and again when it is another', async (t) => {
  const { captures, home, asked, write } = rig(t);
  const counts = (): number => asked.filter((task) => task === 'countCapture').length;
  write('a.pcap');
  await Promise.all([captures.list(home, wanted), captures.list(home, wanted)]);
  await captures.list(home, wanted);
  t.equal(counts(), 1);
  write('a.pcap', 60);
  await captures.list(home, wanted);
  t.equal(counts(), 2);
});

void t.test('a file that is too large to count, or goes meanwhile, has no counts', async (t) => {
  const made = rig(t);
  const { captures, home, write } = made;
  write('large.pcap');
  truncateSync(join(home.place.folder, CAPTURES, 'large.pcap'), 256 * 1024 * 1024 + 1);
  write('other.pcap');
  made.before = (task) => {
    if (task === 'countCapture') throw new Error('it has gone');
  };
  const unknown = { packets: null, first_packet_at: null, last_packet_at: null };
  t.match(await captures.list(home, wanted), [
    { name: 'large.pcap', ...unknown },
    { name: 'other.pcap', ...unknown },
  ]);
  made.before = () => undefined;
  t.match(await captures.list(home, wanted), [unknown, { packets: 2 }], 'it is tried again');
});

void t.test('nothing more is counted for a client that has gone', async (t) => {
  const { captures, home, asked, write } = rig(t);
  for (const name of ['a', 'b', 'c']) write(name);
  let left = 2;
  t.equal((await captures.list(home, () => left-- > 0)).length, 2);
  t.same(asked, ['listCaptures', 'countCapture', 'countCapture']);
});

void t.test('a finished file is removed, a running one is not', async (t) => {
  const made = rig(t);
  const { captures, home, running, write } = made;
  write('a');
  write('b');
  running.push(capture('b'));
  await captures.remove(home, 'a');
  await t.rejects(captures.remove(home, 'a'), { status: 404, message: /capture file a / });
  await t.rejects(captures.remove(home, 'b'), { status: 409, message: /link/ });
  running.pop();
  made.before = (task) => {
    // A capture begins with the name that is about to be removed.
    if (task === 'removeCaptures') write('b', 100);
  };
  await t.rejects(captures.remove(home, 'b'), { status: 409, message: /changed/ });
  t.same(await captures.find(home, undefined), ['b']);
});

void t.test('files beyond the limits are removed, except running ones', async (t) => {
  const { captures, home, running, write } = rig(t);
  for (const [name, age] of [
    ['new', 1],
    ['old', 500],
    ['oldest', 1000],
    ['running', 2000],
  ] as const)
    write(name, age);
  running.push(capture('running'));
  const gone = await captures.prune(home, { olderThanMs: 600_000 });
  t.same(
    gone.map(({ name, size }) => [name, size]),
    [['oldest', 76]],
  );
  await captures.prune(home, { keepBytes: 2 * 76 });
  t.same(await captures.find(home, undefined), ['new', 'running']);
});

void t.test('names that are there, and names that cannot be', async (t) => {
  const { captures, home, running, write } = rig(t);
  for (const name of ['a', 'b', 'c']) write(name);
  t.same(await captures.find(home, ['c', 'a']), ['a', 'c']);
  await t.rejects(captures.find(home, ['a', 'x']), { status: 404, message: /capture file x / });
  const root = home.place.folder;
  t.same(captures.place(home, 'a b'), { root, path: `${CAPTURES}/a b`, most: Infinity });
  running.push(capture('a b'));
  t.equal(captures.place(home, 'a b').most, 90, 'of one that is written, what is whole');
  for (const name of ['..', '.', 'a/b', '../a', 'a\0'])
    t.throws(() => captures.place(home, name), refusals.captureFileMissing(name), name);
});
