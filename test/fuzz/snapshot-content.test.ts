/** Damaged and planted files of a content store: packs, their indexes, and where a manifest says that content lies. */
import { deepEqual, equal, ok } from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import t from 'tap';
import { ChunkTable, RECORD_LENGTH } from '../../src/snapshots/content/chunk-table.js';
import { ContentDigest, DIGEST_LENGTH } from '../../src/snapshots/content/content-digest.js';
import { checkTree, type ContentTree, type StoredFile } from '../../src/snapshots/content/content-tree.js';
import { JobProgress } from '../../src/snapshots/content/job-progress.js';
import { removeManifest } from '../../src/snapshots/content/manifest.js';
import { ContentDamage, OpenObjects, readPieces } from '../../src/snapshots/content/object-reading.js';
import { damageMarkOf, indexOf, isObject } from '../../src/snapshots/content/objects.js';
import { readPackIndex } from '../../src/snapshots/content/pack.js';
import { readStored } from '../../src/snapshots/content/stored-reading.js';
import { entriesText, parseTree, placesText } from '../../src/snapshots/content/tree-text.js';
import { ContentRig } from '../support/content-rig.js';
import { fuzz, unlessRefused } from '../support/fuzzer.js';
import { RandomBytes } from '../support/random.js';
import { rounds } from '../support/rounds.js';
import { scratchFolder } from '../support/scratch.js';

const INPUTS = rounds(400, 20_000);
/** Inputs for which a whole snapshot is built or made. */
const FEW_INPUTS = rounds(30, 2000);
const code = /\/src\/(?:snapshots\/content|base\/disk)\//;
/** Larger trees are refused by the disk, or take their time for good reason. */
const LARGEST_BUILT = 1024 * 1024;

function withDigest(records: Buffer): Buffer {
  return Buffer.concat([createHash('sha256').update(records).digest(), records]);
}

void t.test('the index of a pack', async (t) => {
  const path = join(scratchFolder(t), 'a.index');
  const noise = new RandomBytes(5);
  const table = new ChunkTable();
  for (let number = 0; number < 5; number++)
    table.add(noise.next(DIGEST_LENGTH), 4096 + number, { object: 'a.pack', offset: number * 8192 });
  const sample = table.recordsFrom(0);
  const check = (input: Buffer): void => {
    writeFileSync(path, input);
    equal(readPackIndex(path).length, 0, 'a digest was right by chance');
    writeFileSync(path, withDigest(input));
    const records = readPackIndex(path);
    equal(records.length, input.length % RECORD_LENGTH === 0 ? input.length : 0);
    const read = new ChunkTable();
    read.addRecords('a.pack', records, (start, end) => start < end && Number.isSafeInteger(end));
    ok(read.count <= records.length / RECORD_LENGTH);
    const kept = Buffer.from(read.recordsFrom(0));
    for (let at = 0; at < kept.length; at += RECORD_LENGTH) {
      const record = kept.subarray(at, at + RECORD_LENGTH);
      const offset = Number(record.readBigUInt64LE(DIGEST_LENGTH));
      const length = record.readUInt32LE(DIGEST_LENGTH + 8);
      deepEqual(read.find(record.subarray(0, DIGEST_LENGTH), length), { object: 'a.pack', offset });
    }
    equal(read.find(Buffer.alloc(DIGEST_LENGTH, 7), 4096), undefined);
    const again = new ChunkTable();
    again.addRecords('a.pack', kept, () => true);
    deepEqual(again.recordsFrom(0), kept);
  };
  t.type(await fuzz({ samples: [sample], inputs: INPUTS, check, code }), 'number');
});

void t.test('a store whose pack and index are damaged says so, and later snapshots are whole', async (t) => {
  const rig = new ContentRig(scratchFolder(t));
  const noise = new RandomBytes(6);
  writeFileSync(join(rig.project, 'disk'), noise.next(5000));
  writeFileSync(join(rig.project, 'startup.cfg'), noise.next(300));
  const { id } = rig.take();
  const expected = rig.record();
  const [object = ''] = rig.objects().filter((name) => isObject(name));
  const pack = join(rig.folder, 'content', object);
  const index = readFileSync(indexOf(pack));
  const check = (input: Buffer): void => {
    rmSync(damageMarkOf(pack), { force: true });
    writeFileSync(indexOf(pack), input.subarray(0, index.length));
    writeFileSync(pack, input.subarray(index.length));
    const isWhole = rig.damage(id).length === 0;
    const built = unlessRefused(() => rig.built(id));
    equal(built !== undefined, isWhole, 'what is verified is what can be built');
    if (isWhole) deepEqual(built, expected);
    const later = rig.take();
    deepEqual(rig.built(later.id), expected);
    removeManifest(rig.folder, later.id);
    rig.store.collect();
  };
  const sample = Buffer.concat([index, readFileSync(pack)]);
  const target = { samples: [sample], inputs: FEW_INPUTS, longest: 2 * sample.length, check, code };
  t.type(await fuzz(target), 'number');
});

const OBJECTS = ['one.pack', 'two.0'];
const FILE: StoredFile = {
  path: 'a/disk',
  size: 200_000,
  mode: 0o644,
  modifiedMs: 1.5,
  version: '1-2',
  digest: undefined,
  extents: [
    { position: 0, length: 65_536, object: 'one.pack', offset: 4096 },
    { position: 65_536, length: 1000, object: 'two.0', offset: 0 },
    { position: 131_072, length: 500, object: 'one.pack', offset: 0 },
  ],
};
const TREE: ContentTree = {
  folders: [{ path: 'a', mode: 0o755 }],
  files: [FILE],
  links: [{ path: 'a/link', target: '..' }],
};
const WORDS = [
  'null',
  '[]',
  '{}',
  '""',
  ',',
  '[',
  ']',
  '"..",',
  '"a/b"',
  '"\\u0000"',
  '"two.0"',
  '-1',
  '0.5',
  '1e400',
  '-1e300',
  '9007199254740991',
];

/** Objects with 100 kB each, in a new folder. */
function objectsIn(scratch: string): string {
  const content = join(scratch, 'content');
  const noise = new RandomBytes(8);
  mkdirSync(content);
  for (const name of OBJECTS) writeFileSync(join(content, name), noise.next(100_000));
  return content;
}

/** The whole file as jobs read it; undefined when it is damaged. */
function readWhole(objects: OpenObjects, file: StoredFile): Buffer | undefined {
  const pieces: Buffer[] = [];
  const sink = {
    data: (chunk: Uint8Array) => pieces.push(Buffer.from(chunk)),
    zeros: (length: number) => pieces.push(Buffer.alloc(length)),
    passed: () => undefined,
  };
  try {
    readPieces(objects, file, sink);
    return Buffer.concat(pieces);
  } catch (error) {
    if (!(error instanceof ContentDamage)) throw error;
    return undefined;
  }
}

/** Undefined when the text is no tree: a manifest of it is refused as damaged. */
function treeOf(entries: string, places: string): ContentTree | undefined {
  let tree: ContentTree;
  try {
    tree = parseTree(entries, places);
  } catch {
    return undefined;
  }
  return unlessRefused(() => {
    checkTree(tree);
    return tree;
  });
}

void t.test('jobs and archives read the same from the places that a manifest names', async (t) => {
  const content = objectsIn(scratchFolder(t));
  const objects = new OpenObjects(content);
  t.teardown(() => {
    objects.close();
  });
  const entries = entriesText(TREE);
  const check = (input: Buffer): void => {
    const [file] = treeOf(entries, input.toString('utf8'))?.files ?? [];
    if (file === undefined) return;
    const whole = readWhole(objects, file);
    if (whole !== undefined) equal(whole.length, file.size);
    for (const position of [0, 1, 65_535, 131_073, file.size]) {
      const part = unlessRefused((): Buffer => readStored(content, file, position, 70_000));
      if (whole !== undefined) deepEqual(part, whole.subarray(position, position + 70_000));
      else if (position === 0 && part !== undefined) equal(part.length, 70_000);
    }
  };
  t.ok(await fuzz({ samples: [placesText(TREE)], words: WORDS, inputs: INPUTS, check, code }));
});

/** The system may refuse a name or a number that a tree has, and says so. */
function unlessRefusedByAny<Result>(act: () => Result): Result | undefined {
  try {
    return unlessRefused(act);
  } catch (error) {
    if (error instanceof Error && 'syscall' in error) return undefined;
    throw error;
  }
}

void t.test('any tree of a manifest is built or refused', async (t) => {
  const rig = new ContentRig(scratchFolder(t));
  mkdirSync(rig.folder);
  objectsIn(rig.folder);
  const target = join(rig.scratch, 'target');
  const check = (input: Buffer): void => {
    const [entries = '', places = ''] = input.toString('utf8').split('\n');
    const tree = treeOf(entries, places);
    if (tree === undefined || tree.files.reduce((sum, { size }) => sum + size, 0) > LARGEST_BUILT) return;
    const entriesAgain = entriesText(tree);
    const placesAgain = placesText(tree);
    const again = parseTree(entriesAgain, placesAgain);
    equal(entriesText(again) + placesText(again), entriesAgain + placesAgain);
    unlessRefusedByAny(() => {
      rig.store.build(tree, target, new JobProgress());
    });
    rmSync(target, { recursive: true, force: true });
    unlessRefused(() => rig.store.verify(tree, new JobProgress()));
  };
  const empty = { ...TREE, files: [{ ...FILE, size: 0, extents: [], digest: new ContentDigest().hex() }] };
  const samples = [TREE, empty].map((tree) => `${entriesText(tree)}\n${placesText(tree)}`);
  t.ok(await fuzz({ samples, words: WORDS, inputs: INPUTS, check, code }));
});

void t.test('trees that cannot be built are refused as damage', (t) => {
  const refusedTree = (change: Partial<StoredFile>, target = '..'): void => {
    const tree = {
      ...TREE,
      files: [{ ...FILE, ...change }],
      links: [{ path: 'a/link', target }],
    };
    t.equal(treeOf(entriesText(tree), placesText(tree)), undefined, JSON.stringify({ change, target }));
  };
  const beyond = { position: 0, length: 2, object: 'one.pack', offset: Number.MAX_SAFE_INTEGER };
  refusedTree({ extents: [beyond] });
  refusedTree({ mode: 2 ** 32 });
  refusedTree({ modifiedMs: -1e300 });
  refusedTree({}, 'a\0b');
  refusedTree({}, '');
  t.ok(treeOf(entriesText(TREE), placesText(TREE)));
  t.end();
});
