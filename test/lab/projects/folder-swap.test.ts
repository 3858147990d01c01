import { cpSync, existsSync, mkdirSync, renameSync, rmSync, symlinkSync } from 'node:fs';
import fs from 'node:fs';
import { syncBuiltinESMExports } from 'node:module';
import { dirname, join } from 'node:path';
import t, { type Test } from 'tap';
import { folderSwapTasks } from '../../../src/lab/projects/folder-swap.js';
import { recordTree, writeFiles } from '../../support/file-trees.js';
import { scratchFolder } from '../../support/scratch.js';

const { checkSwap, finishSwap } = folderSwapTasks;
const WORK = 'snapshots/.work/job';

/** Paths and contents, without times. */
function contents(root: string, leftOut: readonly string[] = []): string[] {
  return [...recordTree(root, leftOut)].map(
    ([path, what]) => `${path} ${what.replace(/^(file \d+) \d+/, '$1')}`,
  );
}

function begin(t: Test): { root: string; then: string[] } {
  const root = scratchFolder(t);
  const next = { 'project-files/hub/1/a': 'new', README: 'new', 'notes/deep/b': 'new' };
  writeFiles(root, {
    'project-files/hub/1/a': 'old',
    'project-files/captures/x.pcap': 'packets',
    README: 'old',
    stays: 'stays',
  });
  const expected = scratchFolder(t);
  writeFiles(expected, { ...next, 'project-files/captures/x.pcap': 'packets', stays: 'stays' });
  writeFiles(join(root, WORK, 'new'), next);
  return { root, then: contents(expected) };
}

const PATHS = ['project-files', 'README', 'notes'];

void t.test('a new folder takes the place of the old one, which is put aside', (t) => {
  const { root, then } = begin(t);
  finishSwap({ root, work: WORK, paths: PATHS });
  t.same(contents(root, ['snapshots']), then);
  t.same(contents(join(root, WORK, 'old')).filter((line) => line.includes(' file ')).length, 2);
  finishSwap({ root, work: WORK, paths: PATHS });
  t.same(contents(root, ['snapshots']), then, 'once more changes nothing');
  t.end();
});

/** The steps in their order; each is one rename. */
const STEPS: readonly (readonly [from: string, to: string])[] = [
  ['project-files', `${WORK}/old/project-files`],
  [`${WORK}/new/project-files`, 'project-files'],
  ['README', `${WORK}/old/README`],
  [`${WORK}/new/README`, 'README'],
  [`${WORK}/new/notes`, 'notes'],
  [`${WORK}/old/project-files/captures`, 'project-files/captures'],
];

void t.test('it goes on from wherever it was left', (t) => {
  const { root, then } = begin(t);
  for (let done = 0; done <= STEPS.length; done++) {
    const copy = scratchFolder(t);
    cpSync(root, copy, { recursive: true, preserveTimestamps: true });
    for (const [from, to] of STEPS.slice(0, done)) {
      mkdirSync(dirname(join(copy, to)), { recursive: true });
      renameSync(join(copy, from), join(copy, to));
    }
    finishSwap({ root: copy, work: WORK, paths: PATHS });
    t.same(contents(copy, ['snapshots']), then, `after ${done} steps`);
  }
  t.end();
});

void t.test('a part of a folder that is not there yet', (t) => {
  const root = scratchFolder(t);
  writeFiles(join(root, WORK, 'new'), { 'project-files/hub/1/a': 'new' });
  finishSwap({ root, work: WORK, paths: ['project-files/hub/1'] });
  t.ok(existsSync(join(root, 'project-files/hub/1/a')));
  t.end();
});

void t.test('no link is followed out of the project', (t) => {
  const root = scratchFolder(t);
  const outside = scratchFolder(t);
  writeFiles(outside, { 'hub/1/a': 'outside' });
  symlinkSync(outside, join(root, 'project-files'));
  writeFiles(join(root, WORK, 'new'), { 'project-files/hub/1/a': 'new' });
  const swap = { root, work: WORK, paths: ['project-files/hub/1'] };
  t.match(finishSwap(swap), /Forbidden/);
  t.throws(() => {
    checkSwap(swap);
  }, /project-files\/hub\/1 cannot be exchanged, because what is on the way to it is no folder/);
  t.match(contents(outside).at(-1), /^hub\/1\/a file/);
  rmSync(join(root, 'project-files'));
  finishSwap({ root, work: WORK, paths: ['project-files/hub/1'] });
  t.ok(existsSync(join(root, 'project-files/hub/1/a')), 'and it can be gone on with');
  t.end();
});

void t.test('a swap that can never be done is given up, and everything is where it was', (t) => {
  const { root } = begin(t);
  const before = contents(root, ['snapshots']);
  writeFiles(join(root, WORK, 'new'), { 'snapshots/planted': 'x' });
  // The folder of the exchange itself is within what is to be exchanged.
  const swap = { root, work: WORK, paths: [...PATHS, 'snapshots'] };
  t.throws(() => {
    checkSwap(swap);
  }, /snapshots cannot be exchanged, because it is a name of the server's own: nothing was changed/);
  for (const round of ['once', 'once more']) {
    t.equal(finishSwap(swap), 'EINVAL: invalid argument', round);
    t.same(contents(root, ['snapshots']), before);
  }
  checkSwap({ root, work: WORK, paths: PATHS });
  t.equal(finishSwap({ root, work: WORK, paths: PATHS }), undefined, 'the rest can be exchanged');
  t.end();
});

void t.test('a disk that refuses may be mended: nothing is given up', (t) => {
  const { root } = begin(t);
  const disk = { code: 'EIO' };
  const { renameSync: rename } = fs;
  fs.renameSync = () => {
    throw Object.assign(new Error('EIO'), disk);
  };
  syncBuiltinESMExports();
  try {
    t.throws(() => finishSwap({ root, work: WORK, paths: PATHS }), disk);
  } finally {
    fs.renameSync = rename;
    syncBuiltinESMExports();
  }
  t.equal(finishSwap({ root, work: WORK, paths: PATHS }), undefined);
  t.end();
});
