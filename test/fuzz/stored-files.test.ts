/** Files of the state folder, which may be damaged or planted: the journal, the store of earlier versions, manifests. */
import { deepEqual, equal, ok } from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { closeSync, openSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { crc32 } from 'node:zlib';
import t from 'tap';
import { publishManifest, readManifest } from '../../src/snapshots/content/manifest.js';
import {
  encodeFrame,
  encodeHead,
  entriesOf,
  FRAMES_START,
  HEAD_LENGTH,
  HEAD_PLACES,
  rawChange,
} from '../../src/base/store/journal-format.js';
import { JournalStore } from '../../src/base/store/journal-store.js';
import { readFrames, readHead } from '../../src/base/store/journal-reading.js';
import { readLmdb } from '../../src/base/store/lmdb-reading.js';
import { fuzz, unlessRefused } from '../support/fuzzer.js';
import { lmdbFolder } from '../support/lmdb-folder.js';
import { Random } from '../support/random.js';
import { rounds } from '../support/rounds.js';
import { scratchFolder } from '../support/scratch.js';

const INPUTS = rounds(400, 20_000);
const SALT = 7;
const PAGE = 4096;

/** Undefined when the read fails with an error of our own, or of the library that unpacks: the state thread may be told so. */
function unlessDamaged<Result>(read: () => Result): Result | undefined {
  try {
    return read();
  } catch (error) {
    const isSystems = error instanceof Error && 'syscall' in error;
    if (!(error instanceof Error) || isSystems || /call stack|allocation failed/i.test(error.message))
      throw error;
    return undefined;
  }
}

/** Checksums are made right here and there, or nothing behind them would be reached. */
function withChecksums(input: Buffer): Buffer {
  const journal = Buffer.from(input);
  for (const place of HEAD_PLACES) {
    if (journal.length >= place + HEAD_LENGTH)
      journal.writeUInt32LE(crc32(journal.subarray(place, place + 40)), place + 40);
  }
  for (let at = FRAMES_START; at + 16 <= journal.length;) {
    const end = at + 16 + journal.readUInt32LE(at);
    if (end <= journal.length) journal.writeUInt32LE(crc32(journal.subarray(at + 8, end), SALT), at + 4);
    at = end;
  }
  return journal;
}

const KEY = ['project', 'a'];
const FRAMES = [
  encodeFrame(SALT, 5, [rawChange({ put: ['x'], value: { a: [1, 'two'] } })]),
  encodeFrame(SALT, 6, [rawChange({ put: KEY, value: 1 }), rawChange({ remove: ['x'] })]),
  encodeFrame(SALT, 7, [rawChange({ clear: ['project'] })]),
];

function sampleJournal(): Buffer {
  const baseEnd = FRAMES_START + (FRAMES[0]?.length ?? 0);
  const heads = Buffer.alloc(FRAMES_START);
  heads.set(encodeHead({ salt: SALT, base: 5, baseEnd, marked: baseEnd }), 0);
  heads.set(encodeHead({ salt: SALT, base: 5, baseEnd, marked: baseEnd + 1 }), HEAD_PLACES[1]);
  return Buffer.concat([heads, ...FRAMES, Buffer.alloc(64)]);
}

/** Without the zeros between the heads, so that more changes hit something. */
function withoutGap(journal: Buffer): Buffer {
  const heads = HEAD_PLACES.map((place) => journal.subarray(place, place + HEAD_LENGTH));
  return Buffer.concat([...heads, journal.subarray(FRAMES_START)]);
}

function withGap(input: Buffer): Buffer {
  const journal = Buffer.alloc(FRAMES_START + Math.max(0, input.length - 2 * HEAD_LENGTH));
  HEAD_PLACES.forEach((place, index) => {
    journal.set(input.subarray(index * HEAD_LENGTH, (index + 1) * HEAD_LENGTH), place);
  });
  journal.set(input.subarray(2 * HEAD_LENGTH), FRAMES_START);
  return journal;
}

void t.test('journals', async (t) => {
  const path = join(scratchFolder(t), 'journal');
  const check = (input: Buffer): void => {
    const octets = withChecksums(withGap(input));
    writeFileSync(path, octets);
    const fd = openSync(path, 'r');
    try {
      const head = unlessDamaged(() => readHead(fd));
      if (head === undefined) return;
      const found = readFrames(fd, head, ({ bytes: frame, position }) => {
        ok(position + frame.length <= octets.length, 'a frame reaches beyond the end');
        const entries = unlessDamaged(() => [...entriesOf(frame, position)]) ?? [];
        for (const { place } of entries)
          ok(
            place.length >= 0 && place.position + place.length <= position + frame.length,
            'a value is outside',
          );
      });
      ok(found.end <= Math.max(octets.length, FRAMES_START) && !(found.damage !== undefined && found.isTorn));
    } finally {
      closeSync(fd);
    }
  };
  t.ok(await fuzz({ samples: [withoutGap(sampleJournal())], words: ['WFSTORE\n'], inputs: INPUTS, check }));
});

void t.test('a store opens on any journal, and what is committed then is there again', async (t) => {
  const folder = scratchFolder(t);
  const check = (input: Buffer): void => {
    for (const name of readdirSync(folder)) rmSync(join(folder, name), { recursive: true });
    writeFileSync(join(folder, 'journal'), withChecksums(withGap(input)));
    const first = unlessDamaged(() => new JournalStore(folder));
    if (first === undefined) return;
    first.commit([{ put: ['after'], value: 'damage' }]);
    const records = unlessDamaged(() => first.load([]));
    first.close();
    const second = new JournalStore(folder);
    deepEqual(
      unlessDamaged(() => second.load([])),
      records,
    );
    deepEqual(second.load(['after']), [{ key: ['after'], value: 'damage' }]);
    second.close();
  };
  const sample = withoutGap(sampleJournal());
  t.type(await fuzz({ samples: [sample], words: ['WFSTORE\n'], inputs: INPUTS / 40, check }), 'number');
});

void t.test('the store of earlier versions', async (t) => {
  const folder = scratchFolder(t);
  await lmdbFolder(folder, new Random(9), 50);
  const whole = readFileSync(join(folder, 'data.mdb'));
  const path = join(scratchFolder(t), 'data.mdb');
  const check = (input: Buffer): void => {
    // Pages have no checksums, but all have numbers: they are left as they were.
    const octets = Buffer.from(input.subarray(0, whole.length));
    for (let page = 2 * PAGE; page + 8 <= octets.length; page += PAGE)
      octets.writeBigUInt64LE(BigInt(page / PAGE), page);
    writeFileSync(path, octets);
    for (const { key } of unlessDamaged(() => readLmdb(path)) ?? []) ok(key.length > 0);
  };
  t.type(await fuzz({ samples: [whole], inputs: INPUTS / 2, longest: whole.length, check }), 'number');
});

void t.test('manifests', async (t) => {
  const folder = scratchFolder(t);
  const id = '6f7f1b0c-30a3-4a0c-9d3d-1c5a7c1f0a01';
  const path = join(folder, `${id}.manifest`);
  const extents = [
    { position: 0, length: 65536, object: 'one.pack', offset: 2 ** 40 },
    { position: 2 ** 40, length: 65536, object: 'two.pack', offset: 0 },
  ];
  const file = {
    path: 'a/disk',
    size: 2 ** 41,
    mode: 0o644,
    modifiedMs: 1.5,
    version: '1-2',
    digest: undefined,
    extents,
  };
  const tree = {
    folders: [{ path: 'a', mode: 0o755 }],
    files: [file],
    links: [{ path: 'a/link', target: '..' }],
  };
  const counts = { nodes: 3 };
  const head = { snapshot: { snapshot_id: id }, size: 2 ** 41, files: 1, added: 1, counts, isSealed: true };
  publishManifest(folder, head, { nodes: [{ name: 'R1' }] }, tree);
  const whole = readFileSync(path);
  const beginning = whole.subarray(0, '{"digest":"'.length).toString();
  const check = (input: Buffer): void => {
    const rest = input.subarray(beginning.length + 64);
    writeFileSync(
      path,
      Buffer.concat([Buffer.from(beginning + createHash('sha256').update(rest).digest('hex')), rest]),
    );
    const read = unlessRefused(() => readManifest(folder, id));
    if (read === undefined) return;
    for (const { size, extents } of read.tree.files) {
      let end = 0;
      for (const { position, length } of extents) {
        ok(position >= end && length > 0);
        end = position + length;
      }
      ok(end <= size, 'content lies beyond the end of its file');
    }
    equal(publishManifest(folder, read.head, read.topology, read.tree).size, read.head.size);
    deepEqual(readManifest(folder, id).tree, read.tree);
  };
  const words = [
    'null',
    '[]',
    '{}',
    '""',
    ',',
    '[',
    ']',
    '"..",',
    '"a/b"',
    '\n',
    '-1',
    '1e400',
    '9007199254740991',
  ];
  t.ok(await fuzz({ samples: [whole], words, inputs: INPUTS, check }));
});
