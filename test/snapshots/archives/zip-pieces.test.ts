import { createHash, randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { mkdirSync, readdirSync, truncateSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { Worker } from 'node:worker_threads';
import t from 'tap';
import yauzl from 'yauzl';
import { dropCursor, firstCursor, nextPiece } from '../../../src/snapshots/archives/zip-pieces.js';
import type { ZipCursor, ZipPiece } from '../../../src/snapshots/archives/zip-cursor.js';
import { ZIP_METHODS, type Compression } from '../../../src/snapshots/archives/zip-member.js';
import { writePlan, type PlannedMember } from '../../../src/snapshots/archives/zip-plan.js';
import { mappedMemory } from '../../support/mapped-memory.js';
import { Random, RandomBytes, testSeed } from '../../support/random.js';
import { scratchFolder } from '../../support/scratch.js';
import {
  fileMember,
  lackOf,
  makeArchive,
  onDisk,
  planOf,
  ROOTS,
  pythonSays,
  seenByPython,
  testWithUnzip,
  textMember,
} from '../../support/zip-making.js';

const python = { skip: lackOf('python3') };
const both = { skip: lackOf('python3') || lackOf('unzip') };
const COMPRESSIONS = Object.keys(ZIP_METHODS) as Compression[];
const CHUNK = 512 * 1024;
const SIZES = [0, 1, 63, 64, 1000, 65_536, CHUNK - 1, CHUNK, CHUNK + 1, 2 * CHUNK, 3 * CHUNK + 77];
const NAMES = [
  'plain',
  'ünïcödé',
  'Ελληνικά',
  'русский',
  '日本語',
  'עברית',
  '😀',
  'a b\'"%&',
  'e\u0301',
  '-x',
];
const SECOND = 1000;

/** Between text and noise, and with zeros. */
function content(random: Random, noise: RandomBytes, size: number): Buffer {
  const bytes = noise.next(size);
  for (let at = 0; at < size;) {
    const length = 1 + random.below(size - at);
    const kind = random.below(3);
    if (kind === 0) bytes.fill(0, at, at + length);
    if (kind === 1) bytes.fill(`line ${random.below(1000)} of a text\n`, at, at + length);
    at += length;
  }
  return bytes;
}

function sha256(bytes: Uint8Array | string): string {
  return createHash('sha256').update(bytes).digest('hex');
}

for (const compression of COMPRESSIONS) {
  void t.test(`with ${compression}, other programs read all that was put in`, both, async (t) => {
    const random = new Random(testSeed(11));
    const noise = new RandomBytes(testSeed(11));
    const folder = scratchFolder(t);
    const contents = new Map<string, Buffer>();
    const members: PlannedMember[] = [textMember('project.gns3', '{"name": "é"}')];
    contents.set('project.gns3', Buffer.from('{"name": "é"}'));
    for (const [index, size] of [...SIZES, ...NAMES.map(() => random.below(CHUNK / 4))].entries()) {
      const path = `project-files/${NAMES[index % NAMES.length] ?? ''}/${size}.${index}`;
      const bytes = content(random, noise, size);
      const file = join(folder, String(index));
      writeFileSync(file, bytes);
      contents.set(path, bytes);
      members.push(fileMember(path, file, size, random.below(0o1000)));
    }
    const link: PlannedMember = {
      ...{ path: 'link', kind: 'link', mode: 0o777, modifiedMs: 0, size: 0 },
      content: { text: 'project-files/日本語' },
    };
    const empty: PlannedMember = { path: 'empty', kind: 'folder', mode: 0o755, modifiedMs: 0, size: 0 };
    contents.set('link', Buffer.from('project-files/日本語'));
    contents.set('empty/', Buffer.alloc(0));
    const plan = planOf(folder, [...members, link, empty]);
    const made = await makeArchive(plan, compression);
    t.same(made.warnings, []);
    t.ok(made.pieces.every((length) => length > 0 && length < 3 * CHUNK));
    const seen = seenByPython(made.path);
    t.same(
      seen.map(({ name, size, sha256: digest }) => [name, size, digest]),
      [...contents].map(([name, bytes]) => [name, bytes.length, sha256(bytes)]),
    );
    for (const [index, member] of members.entries()) {
      const { name, size, method, mode, flags } = seen[index] ?? missing(member.path);
      t.equal(mode, (0o100644 | member.mode).toString(8), name);
      t.equal(method, size < 64 ? 0 : ZIP_METHODS[compression], name);
      t.equal(flags & (1 << 11), 1 << 11, name);
    }
    t.same(seen.at(1)?.time, [2024, 2, 29, 23, 59, 56]);
    t.same(
      seen.slice(-2).map(({ name, mode }) => [name, mode]),
      [
        ['link', '120777'],
        ['empty/', '40755'],
      ],
    );
    if (compression !== 'lzma') testWithUnzip(made.path);
    t.notOk(readdirSync(folder).some((name) => name.endsWith('.directory')));
  });

  void t.test(`with ${compression}, any thread makes the next piece`, python, async (t) => {
    const folder = scratchFolder(t);
    const noise = new RandomBytes(12);
    const bytes = Buffer.concat([noise.next(2 * CHUNK + 5), Buffer.alloc(2 * CHUNK), noise.next(CHUNK)]);
    writeFileSync(join(folder, 'file'), bytes);
    const file = join(folder, 'file');
    const plan = planOf(
      folder,
      ['a', 'b'].map((path) => fileMember(path, file, bytes.length)),
    );
    const workers = [1, 2].map(
      () => new Worker(new URL('../../support/zip-piece-worker.js', import.meta.url)),
    );
    t.teardown(() => Promise.all(workers.map((worker) => worker.terminate())));
    let turn = 0;
    const made = await makeArchive(plan, compression, async (cursor) => {
      const worker = workers[turn++ % workers.length] ?? missing('worker');
      worker.postMessage(cursor);
      const [piece] = (await once(worker, 'message')) as [ZipPiece];
      return piece;
    });
    t.ok(made.pieces.length > 4);
    t.same(
      seenByPython(made.path).map(({ name, sha256: digest }) => [name, digest]),
      ['a', 'b'].map((name) => [name, sha256(bytes)]),
    );
  });

  void t.test(`with ${compression}, nothing is held for an archive that was given up`, (t) => {
    const folder = scratchFolder(t);
    const file = join(folder, 'file');
    const size = 10 * CHUNK * 2;
    writeFileSync(file, new RandomBytes(13).next(3 * CHUNK));
    truncateSync(file, size);
    const plan = planOf(folder, [fileMember('a', file, size)]);
    const cursors = Array.from({ length: 5 }, () => firstCursor(plan, ROOTS, compression));
    const before = mappedMemory();
    for (const first of cursors) {
      const { cursor = missing('cursor') } = nextPiece(first);
      const isHeld = compression === 'bzip2' || compression === 'lzma';
      t.equal(Atomics.load(cursor.held, 0) !== 0n, isHeld);
      const copy = structuredClone(cursor);
      for (const given of [cursor, copy, first]) dropCursor(given);
      t.equal(Atomics.load(cursor.held, 0), 0n);
      if (isHeld) t.throws(() => nextPiece(copy), /given up/);
    }
    t.ok(mappedMemory() - before < 200 * 1024 * 1024, 'each stream of lzma has 94 MiB');
    t.end();
  });
}

function missing(what: string): never {
  throw new Error(`there is no ${what}`);
}

void t.test('yauzl reads it', async (t) => {
  const folder = scratchFolder(t);
  const bytes = content(new Random(14), new RandomBytes(14), 3 * CHUNK);
  writeFileSync(join(folder, 'file'), bytes);
  const plan = planOf(folder, [
    textMember('ä', 'text'),
    fileMember('file', join(folder, 'file'), bytes.length),
  ]);
  const { path } = await makeArchive(plan, 'zip');
  const archive = await yauzl.openPromise(path);
  const seen: [string, string][] = [];
  for await (const entry of archive.eachEntry()) {
    const parts: Buffer[] = [];
    for await (const part of await archive.openReadStreamPromise(entry)) parts.push(part as Buffer);
    seen.push([entry.fileName, sha256(Buffer.concat(parts))]);
  }
  t.same(seen, [
    ['ä', sha256('text')],
    ['file', sha256(bytes)],
  ]);
});

void t.test('an archive within the archive', python, async (t) => {
  const folder = scratchFolder(t);
  const bytes = new RandomBytes(15).next(4 * CHUNK);
  writeFileSync(join(folder, 'file'), bytes);
  const inner = join(folder, 'inner');
  const gone = fileMember('gone', join(folder, 'gone'), 9);
  writePlan(inner, [
    textMember('project.gns3', '{}'),
    gone,
    fileMember('disk', join(folder, 'file'), bytes.length),
  ]);
  const size = 0;
  const plan = planOf(folder, [
    textMember('before', ''),
    {
      path: 'snapshots/a',
      kind: 'file',
      mode: 0o644,
      modifiedMs: 0,
      content: { archive: onDisk(inner) },
      size,
    },
    textMember('after', 'x'),
  ]);
  const program = `
import hashlib, io, sys, zipfile
archive = zipfile.ZipFile(sys.argv[1])
inner = zipfile.ZipFile(io.BytesIO(archive.read('snapshots/a')))
print(archive.testzip(), archive.namelist(), inner.testzip(), inner.namelist(), hashlib.sha256(inner.read('disk')).hexdigest())`;
  for (const compression of COMPRESSIONS) {
    const made = await makeArchive(plan, compression);
    t.equal(
      pythonSays(program, made.path).trim(),
      `None ['before', 'snapshots/a', 'after'] None ['project.gns3', 'disk'] ${sha256(bytes)}`,
    );
    t.same(made.warnings, ['Could not export file gone: no such file or directory']);
  }
});

void t.test('unreadable files are left out', python, async (t) => {
  const folder = scratchFolder(t);
  mkdirSync(join(folder, 'folder'));
  writeFileSync(join(folder, 'file'), 'content');
  const members = ['gone', 'folder', 'file'].map((name) => fileMember(`x/${name}`, join(folder, name), 7));
  const { path, warnings } = await makeArchive(planOf(folder, members), 'zip');
  t.same(
    seenByPython(path).map(({ name }) => name),
    ['x/file'],
  );
  t.same(warnings, [
    'Could not export file x/gone: no such file or directory',
    "Could not export file x/folder: Is a directory: 'folder'",
  ]);
});

void t.test('a file that has become shorter breaks the archive off, and frees its stream', (t) => {
  const folder = scratchFolder(t);
  const file = join(folder, 'file');
  for (const [compression, size, cut] of [
    ['none', 7, 6],
    ['lzma', 4 * CHUNK, 2 * CHUNK],
    ['bzip2', 4 * CHUNK, 2 * CHUNK + 1],
  ] as const) {
    writeFileSync(file, new RandomBytes(16).next(size));
    const plan = `${folder}/${randomUUID()}`;
    writePlan(plan, [fileMember('a', file, size)]);
    let cursor: ZipCursor | undefined = firstCursor(plan, ROOTS, compression);
    const { held } = cursor;
    if (size > CHUNK) ({ cursor } = nextPiece(cursor));
    truncateSync(file, cut);
    t.throws(() => {
      while (cursor !== undefined) ({ cursor } = nextPiece(cursor));
    }, /shorter/);
    t.equal(Atomics.load(held, 0), 0n);
  }
  t.end();
});

void t.test('files of a content store, extents and holes', python, async (t) => {
  const folder = scratchFolder(t);
  const random = new Random(testSeed(17));
  const objects = new RandomBytes(17).next(4 * CHUNK);
  const store = join(folder, 'content');
  mkdirSync(store);
  writeFileSync(join(store, 'one.pack'), objects);
  const size = 6 * CHUNK + 3;
  const expected = Buffer.alloc(size);
  const extents = [];
  for (let position = random.below(CHUNK); position < size;) {
    const length = Math.min(1 + random.below(200_000), size - position);
    const offset = random.below(objects.length - length);
    extents.push({ position, length, object: 'one.pack', offset });
    objects.copy(expected, position, offset, offset + length);
    position += length + (random.chance(0.5) ? random.below(CHUNK) : 0);
  }
  const stored = {
    path: 'a',
    size,
    mode: 0o600,
    modifiedMs: SECOND,
    version: '',
    digest: undefined,
    extents,
  };
  const member: PlannedMember = {
    ...{ path: 'a', kind: 'file', mode: 0o600, modifiedMs: SECOND, size },
    content: { stored, content: onDisk(store) },
  };
  const { path } = await makeArchive(planOf(folder, [member]), 'zip');
  t.equal(seenByPython(path)[0]?.sha256, sha256(expected));
});
