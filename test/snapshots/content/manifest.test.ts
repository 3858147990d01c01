import { createHash, randomUUID } from 'node:crypto';
import { existsSync, mkdirSync, readdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import t from 'tap';
import type { ContentTree } from '../../../src/snapshots/content/content-tree.js';
import {
  listHeads,
  manifestIds,
  publishManifest,
  readManifest,
  readPlaces,
  removeManifest,
} from '../../../src/snapshots/content/manifest.js';
import { scratchFolder } from '../../support/scratch.js';

const ID = '6f7f1b0c-30a3-4a0c-9d3d-1c5a7c1f0a01';
const TREE: ContentTree = {
  folders: [
    { path: 'a', mode: 0o755 },
    { path: 'a/ü', mode: 0o700 },
  ],
  files: [
    {
      path: 'a/disk\n😀',
      size: 2 ** 41,
      mode: 0o644,
      modifiedMs: 1_700_000_000_000.25,
      version: '1-2-3-4',
      digest: 'd'.repeat(64),
      extents: [
        { position: 0, length: 65536, object: 'one.pack', offset: 2 ** 40 },
        { position: 65536, length: 65536, object: 'two.pack', offset: 0 },
        { position: 2 ** 40, length: 65536, object: 'one.pack', offset: 4096 },
      ],
    },
    { path: 'empty', size: 0, mode: 0, modifiedMs: -1, version: '', digest: undefined, extents: [] },
  ],
  links: [{ path: 'a/link', target: '../..' }],
};
const HEAD = {
  snapshot: { snapshot_id: ID, name: 'naïve "name"' },
  size: 2 ** 41,
  files: 2,
  added: 65536,
  counts: { nodes: 3 },
  isSealed: false,
};
const TOPOLOGY = { nodes: [{ name: 'R1' }], text: 'two\nlines' };

void t.test('a manifest is read as it was published', (t) => {
  const folder = scratchFolder(t);
  const head = publishManifest(folder, HEAD, TOPOLOGY, TREE);
  t.strictSame(readManifest(folder, ID), { head, topology: TOPOLOGY, tree: TREE });
  t.strictSame(listHeads(folder), { heads: [head], damaged: [] });
  t.same(manifestIds(folder), [ID]);
  t.same(readPlaces(folder, ID).objects, ['one.pack', 'two.pack']);
  t.same(readdirSync(join(folder, '.work')), [], 'nothing is left of writing it');
  const again = publishManifest(folder, { ...HEAD, isSealed: true }, TOPOLOGY, TREE);
  t.equal(readManifest(folder, ID).head.isSealed, true);
  t.not(again.digest, head.digest);
  t.end();
});

void t.test('every changed byte and every cut is found', (t) => {
  const folder = scratchFolder(t);
  publishManifest(folder, HEAD, TOPOLOGY, TREE);
  const path = join(folder, `${ID}.manifest`);
  const whole = readFileSync(path);
  const isRefused = (bytes: Buffer, place: string): void => {
    writeFileSync(path, bytes);
    for (const read of [readManifest, readPlaces]) {
      try {
        read(folder, ID);
        t.fail(`${place} is not found`);
      } catch (error) {
        t.match(error, { status: 409, message: /^The snapshot is damaged/ });
      }
    }
  };
  for (let at = 0; at < whole.length; at++) {
    const bytes = Buffer.from(whole);
    bytes[at] = (bytes[at] ?? 0) ^ (1 << (at % 8));
    isRefused(bytes, `byte ${at}`);
    isRefused(whole.subarray(0, at), `a cut at ${at}`);
  }
  t.end();
});

void t.test('a planted manifest is checked as well', (t) => {
  const folder = scratchFolder(t);
  publishManifest(folder, HEAD, TOPOLOGY, TREE);
  const path = join(folder, `${ID}.manifest`);
  const [head = '', ...lines] = readFileSync(path, 'utf8').split('\n');
  const plant = (from: string | RegExp, to: string): void => {
    const changed = [head, ...lines].join('\n').slice(75).replace(from, to);
    const digest = createHash('sha256').update(changed).digest('hex');
    writeFileSync(path, `{"digest":"${digest}${changed}`);
  };
  plant('', '');
  t.equal(readManifest(folder, ID).head.files, 2, 'this one is right');
  for (const [from, to] of [
    ['"a/link"', '"a/../../link"'],
    ['"a/link"', '"/etc/link"'],
    ['"a/link"', '"not there/link"'],
    ['"a/link"', '"empty/link"'],
    ['"a/link"', '"a/ü"'],
    ['"a/link"', '"empty"'],
    ['"empty"', '""'],
    ['"empty"', '"."'],
    ['"empty"', '"a//b"'],
    ['"empty"', '"a"'],
    ['"empty"', '"a\\u0000b"'],
    ['"empty",0', '"empty",-1'],
    ['"empty",0', '"empty","0"'],
    ['[[0,65536,0,', '[[0,65536,2,'],
    ['[[0,65536,0,', '[[-1,65536,0,'],
    ['[[0,65536,0,', `[[${2 ** 42},65536,0,`],
    ['[[0,65536,0,', '[[0,0,0,'],
    [',[]]', ']'],
    [',[]]', ',[1]]'],
    [/"folders":/, '"others":'],
    ['"format":1', '"format":2'],
    [ID, randomUUID()],
    [/\n.*\n$/, '\n'],
  ] as const) {
    plant(from, to);
    t.throws(() => readManifest(folder, ID), /^The snapshot is damaged|damaged/, `${String(from)} as ${to}`);
  }
  t.end();
});

void t.test('lists leave out damaged manifests', (t) => {
  const folder = scratchFolder(t);
  t.same(listHeads(join(folder, 'not there')), { heads: [], damaged: [] });
  const head = publishManifest(folder, HEAD, TOPOLOGY, TREE);
  const other = randomUUID();
  const copy = randomUUID();
  writeFileSync(join(folder, `${other}.manifest`), '{');
  writeFileSync(join(folder, `${copy}.manifest`), readFileSync(join(folder, `${ID}.manifest`)));
  writeFileSync(join(folder, 'other.manifest'), '{');
  const link = randomUUID();
  symlinkSync(join(folder, `${ID}.manifest`), join(folder, `${link}.manifest`));
  const found = listHeads(folder);
  t.same(found.heads, [head]);
  t.same(found.damaged, [other, copy, link].map((id) => `${id}.manifest`).sort());
  t.end();
});

void t.test('missing manifests and folders', (t) => {
  const folder = scratchFolder(t);
  mkdirSync(join(folder, 'x'));
  for (const id of [ID, '../x', 'x', '']) {
    t.throws(() => readManifest(folder, id), `Snapshot ID ${id} doesn't exist`);
    t.equal(removeManifest(folder, id), false);
  }
  publishManifest(folder, HEAD, null, { folders: [], files: [], links: [] });
  t.equal(removeManifest(folder, ID), true);
  t.notOk(existsSync(join(folder, `${ID}.manifest`)));
  t.end();
});
