/** An archive made while it is sent, of files that do not stand still. */
import { spawnSync } from 'node:child_process';
import {
  appendFileSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  truncateSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import t from 'tap';
import type { TaskPool, TaskRunner } from '../../src/base/threads/task-pool.js';
import { performTask } from '../../src/base/threads/task.js';
import { Refusal } from '../../src/base/errors/errors.js';
import { TarStream, type TarEntry } from '../../src/http/tar-stream.js';
import { fileTasks, type FileTasks } from '../../src/base/disk/file-tasks.js';
import { eventually } from '../support/eventually.js';
import { RandomBytes } from '../support/random.js';
import { scratchFolder } from '../support/scratch.js';

const HAS_TAR = spawnSync('tar', ['--version']).status === 0;
const skip = HAS_TAR ? false : 'there is no tar: install the package tar';
const MEBIBYTE = 1024 * 1024;

/** The tasks are real, the thread is this one. `before` is called before each. */
function filesHere(before: (task: string) => void = () => undefined): TaskRunner<FileTasks> {
  const run = async (task: string, input: unknown): Promise<unknown> => {
    before(task);
    const outcome = await performTask(fileTasks, { task, input });
    if ('value' in outcome) return outcome.value;
    const { status, code, message } = outcome.failure;
    throw status === undefined ? new Error(message) : new Refusal(status, code, message);
  };
  return { run: run as TaskPool<FileTasks>['run'] };
}

const entries = (root: string, ...names: string[]): TarEntry[] =>
  names.map((name) => ({ root, path: name, memberPath: `captures/${name}` }));

async function collect(stream: TarStream): Promise<Buffer> {
  const pieces: Uint8Array[] = [];
  for (let piece = stream.next(); piece !== 'over'; piece = stream.next()) pieces.push(await piece);
  stream.close();
  return Buffer.concat(pieces);
}

function unpack(t: Parameters<typeof scratchFolder>[0], archive: Buffer): Map<string, Buffer> {
  const folder = scratchFolder(t);
  const { status, stderr } = spawnSync('tar', ['-x', '-C', folder], { input: archive });
  if (status !== 0 || stderr.length > 0) throw new Error(`tar: ${stderr.toString()}`);
  const names = readdirSync(folder).length === 0 ? [] : readdirSync(join(folder, 'captures')).sort();
  return new Map(names.map((name) => [name, readFileSync(join(folder, 'captures', name))]));
}

const descriptors = (): number => readdirSync('/proc/self/fd').length;

void t.test('all files are in it, those without a byte, too', { skip }, async (t) => {
  const root = scratchFolder(t);
  const random = new RandomBytes(1);
  const contents = new Map([
    ['a', random.next(3 * MEBIBYTE)],
    ['b', Buffer.alloc(0)],
    ['c', random.next(512)],
    ['d', random.next(513)],
  ]);
  for (const [name, content] of contents) writeFileSync(join(root, name), content);
  const before = descriptors();
  const archive = await collect(new TarStream(filesHere(), entries(root, ...contents.keys())));
  t.equal(archive.length % 512, 0);
  const found = unpack(t, archive);
  t.same([...found.keys()], [...contents.keys()]);
  for (const [name, content] of contents) t.ok(found.get(name)?.equals(content), name);
  await eventually('every file is closed', () => descriptors() === before || undefined);
});

void t.test('none is an archive, too', { skip }, async (t) => {
  t.equal(unpack(t, await collect(new TarStream(filesHere(), []))).size, 0);
});

void t.test(
  'a file that grows is cut, one that shrinks is filled up, one that is gone is left out',
  { skip },
  async (t) => {
    const root = scratchFolder(t);
    const content = new RandomBytes(2).next(MEBIBYTE);
    for (const name of ['grows', 'shrinks', 'goes', 'stays']) writeFileSync(join(root, name), content);
    let reads = 0;
    const files = filesHere((task) => {
      if (task !== 'readPiece') return;
      reads++;
      if (reads === 2) appendFileSync(join(root, 'grows'), content);
      if (reads === 3) rmSync(join(root, 'goes'));
      if (reads === 6) truncateSync(join(root, 'shrinks'), 300_000);
    });
    const found = unpack(
      t,
      await collect(new TarStream(files, entries(root, 'grows', 'shrinks', 'goes', 'stays'))),
    );
    t.same([...found.keys()], ['grows', 'shrinks', 'stays']);
    t.ok(found.get('grows')?.equals(content));
    t.ok(found.get('stays')?.equals(content));
    const shrunk = found.get('shrinks');
    t.equal(shrunk?.length, MEBIBYTE);
    t.ok(shrunk?.subarray(0, 256 * 1024).equals(content.subarray(0, 256 * 1024)));
    t.equal(
      shrunk?.subarray(300_000).findIndex((octet) => octet !== 0),
      -1,
    );
  },
);

void t.test('an archive that is given up at any moment leaves nothing open', async (t) => {
  const root = scratchFolder(t);
  writeFileSync(join(root, 'a'), new RandomBytes(3).next(MEBIBYTE));
  const before = descriptors();
  for (let steps = 0; steps < 8; steps++) {
    for (const isUnderWay of [false, true]) {
      const stream = new TarStream(filesHere(), entries(root, 'a', 'a'));
      for (let step = 0; step < steps; step++) await stream.next();
      const last = isUnderWay ? stream.next() : undefined;
      stream.close();
      await last;
      t.equal(stream.next(), 'over');
    }
  }
  await eventually('every file is closed', () => descriptors() === before || undefined);
});

void t.test('an unreadable file breaks the archive off', async (t) => {
  const root = scratchFolder(t);
  writeFileSync(join(root, 'a'), 'content');
  const stream = new TarStream(
    filesHere((task) => {
      if (task === 'readPiece') throw new Error('the disk is gone');
    }),
    entries(root, 'a'),
  );
  await stream.next();
  await t.rejects(Promise.resolve(stream.next()), { message: 'the disk is gone' });
  stream.close();
});

void t.test('folders are members, too, and programs stay what they are', { skip }, async (t) => {
  const root = scratchFolder(t);
  const long = `captures/${'d'.repeat(200)}`;
  writeFileSync(join(root, 'run'), 'x');
  const modifiedMs = 1_700_000_000_000;
  const stream = new TarStream(filesHere(), [
    { memberPath: 'captures/empty', modifiedMs },
    { root, path: 'run', memberPath: 'captures/run', isExecutable: true },
    { memberPath: long, modifiedMs },
  ]);
  const target = scratchFolder(t);
  const { status, stderr } = spawnSync('tar', ['-x', '-C', target], { input: await collect(stream) });
  t.same([status, stderr.toString()], [0, '']);
  for (const [path, mode] of [
    ['captures/empty', 0o755],
    ['captures/run', 0o755],
    [long, 0o755],
  ] as const)
    t.equal(statSync(join(target, path)).mode & 0o777, mode, path);
  t.ok(statSync(join(target, long)).isDirectory());
  t.equal(statSync(join(target, 'captures/empty')).mtimeMs, modifiedMs);
});
