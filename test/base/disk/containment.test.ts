import { spawnSync } from 'node:child_process';
import { existsSync, mkdirSync, symlinkSync, writeFileSync } from 'node:fs';
import { join, sep } from 'node:path';
import t, { type Test } from 'tap';
import { refusals } from '../../../src/base/errors/errors.js';
import { performTask } from '../../../src/base/threads/task.js';
import { containedPath, ownFolder } from '../../../src/base/disk/containment.js';
import { scratchFolder, type Teardown } from '../../support/scratch.js';
import { seededRandom } from '../../support/seeded-random.js';

interface Ground {
  /** The folder that must contain everything. */
  readonly root: string;
  /** Beside it, with a secret in it. */
  readonly outside: string;
}

function ground(t: Teardown): Ground {
  const top = scratchFolder(t);
  const root = join(top, 'root');
  const outside = join(top, 'outside');
  mkdirSync(join(root, 'folder'), { recursive: true });
  mkdirSync(outside);
  writeFileSync(join(root, 'file'), 'ours');
  writeFileSync(join(root, 'folder', 'file'), 'ours');
  writeFileSync(join(outside, 'secret'), 'theirs');
  return { root, outside };
}

/** The status that a client gets for the path: that of the refusal, or 200. */
async function statusOf(root: string, path: string): Promise<number | undefined> {
  const table = { contain: (input: { path: string }) => containedPath(root, input.path) };
  const outcome = await performTask(table, { task: 'contain', input: { path } });
  return 'failure' in outcome ? outcome.failure.status : 200;
}

const refuses = async (t: Test, root: string, path: string, name = path): Promise<void> => {
  t.equal(await statusOf(root, path), 403, name);
};

void t.test('a path below the root is given back whole, whether it exists or not', (t) => {
  const { root } = ground(t);
  for (const path of ['file', 'new', 'folder/file', 'folder/new', 'folder', '...', '..file', 'folder/..x']) {
    t.equal(containedPath(root, path), join(root, path), path);
  }
  t.end();
});

void t.test('dots and slashes that stay below the root are resolved', (t) => {
  const { root } = ground(t);
  const spellings = ['./file', 'folder/../file', 'folder//..//file', './/file', 'file/', join(root, 'file')];
  for (const path of spellings) t.equal(containedPath(root, path), join(root, 'file'), path);
  t.equal(containedPath(root, '../root/file'), join(root, 'file'));
  t.end();
});

void t.test('dots that lead out are refused', async (t) => {
  const { root } = ground(t);
  const paths = [
    '..',
    '../',
    '../outside/secret',
    '../../../../../../etc/passwd',
    'folder/../../outside/secret',
    'nothing/../../outside/secret',
    'folder/../..',
    './../outside/secret',
    '../root/../outside/secret',
    'file/../../outside/secret',
  ];
  for (const path of paths) await refuses(t, root, path);
});

void t.test('the root itself is not below itself', async (t) => {
  const { root } = ground(t);
  for (const path of ['', '.', './', 'folder/..', '../root', root, `${root}/`]) await refuses(t, root, path);
});

void t.test('absolute paths elsewhere are refused', async (t) => {
  const { root, outside } = ground(t);
  for (const path of [
    '/',
    '/etc/passwd',
    '//etc/passwd',
    '///',
    join(outside, 'secret'),
    `/${outside}/secret`,
  ]) {
    await refuses(t, root, path);
  }
});

void t.test('a folder beside the root whose name begins like it is not below it', async (t) => {
  const { root } = ground(t);
  mkdirSync(`${root}-two`);
  writeFileSync(`${root}-two/secret`, 'theirs');
  await refuses(t, root, `${root}-two/secret`);
  await refuses(t, root, '../root-two/secret');
  symlinkSync(`${root}-two`, join(root, 'link'));
  await refuses(t, root, 'link/secret');
});

void t.test('a path with a NUL is refused, wherever it stands', async (t) => {
  const { root } = ground(t);
  for (const path of ['\0', 'file\0', 'file\0.png', '\0/../../outside/secret', 'folder\0/file']) {
    await refuses(t, root, path, JSON.stringify(path));
  }
});

void t.test('a link as the last part is followed, and refused when it leads out', async (t) => {
  const { root, outside } = ground(t);
  symlinkSync(join(outside, 'secret'), join(root, 'out'));
  symlinkSync('../outside/secret', join(root, 'relative-out'));
  symlinkSync(outside, join(root, 'folder-out'));
  symlinkSync('..', join(root, 'up'));
  symlinkSync('.', join(root, 'self'));
  symlinkSync('/', join(root, 'slash'));
  for (const path of ['out', 'relative-out', 'folder-out', 'folder-out/', 'up', 'self', 'slash']) {
    await refuses(t, root, path);
  }
  symlinkSync(join('folder', 'file'), join(root, 'in'));
  t.equal(containedPath(root, 'in'), join(root, 'folder', 'file'));
});

void t.test('a link on the way is followed, and refused when it leads out', async (t) => {
  const { root, outside } = ground(t);
  symlinkSync(outside, join(root, 'out'));
  symlinkSync('..', join(root, 'folder', 'up'));
  symlinkSync('../..', join(root, 'folder', 'top'));
  symlinkSync('folder', join(root, 'in'));
  await refuses(t, root, 'out/secret');
  await refuses(t, root, 'out/new');
  await refuses(t, root, 'folder/top/outside/secret');
  await refuses(t, root, 'folder/top/root-not');
  t.equal(containedPath(root, 'in/file'), join(root, 'folder', 'file'));
  t.equal(containedPath(root, 'folder/up/file'), join(root, 'file'), 'out of the folder but not of the root');
});

void t.test('a chain of links is followed to its end', async (t) => {
  const { root, outside } = ground(t);
  symlinkSync(join(outside, 'secret'), join(root, 'chain-0'));
  symlinkSync(join(root, 'file'), join(root, 'good-0'));
  for (let index = 1; index < 5; index++) {
    symlinkSync(`chain-${index - 1}`, join(root, `chain-${index}`));
    symlinkSync(`good-${index - 1}`, join(root, `good-${index}`));
  }
  // Out and in again is still in.
  symlinkSync(root, join(outside, 'back'));
  symlinkSync(join(outside, 'back'), join(root, 'round'));
  await refuses(t, root, 'chain-4');
  t.equal(containedPath(root, 'good-4'), join(root, 'file'));
  t.equal(containedPath(root, 'round/file'), join(root, 'file'));
});

void t.test('a loop of links is refused and not followed for ever', async (t) => {
  const { root } = ground(t);
  symlinkSync('loop-b', join(root, 'loop-a'));
  symlinkSync('loop-a', join(root, 'loop-b'));
  await refuses(t, root, 'loop-a');
  await refuses(t, root, 'loop-a/file');
});

void t.test('a link to nothing is missing, and cannot be used to make a file outside', async (t) => {
  const { root, outside } = ground(t);
  symlinkSync(join(outside, 'not-yet'), join(root, 'dangling'));
  t.equal(await statusOf(root, 'dangling'), 404);
});

void t.test('a link to a FIFO outside is refused without opening it', async (t) => {
  const { root, outside } = ground(t);
  t.equal(spawnSync('mkfifo', [join(outside, 'fifo'), join(root, 'own-fifo')]).status, 0);
  symlinkSync(join(outside, 'fifo'), join(root, 'link'));
  await refuses(t, root, 'link');
  t.equal(containedPath(root, 'own-fifo'), join(root, 'own-fifo'), 'what it is matters to who opens it');
});

void t.test('a missing folder is missing, and a file is no folder', async (t) => {
  const { root } = ground(t);
  t.equal(await statusOf(root, 'nothing/file'), 404);
  t.equal(await statusOf(root, 'file/below'), 409);
  t.equal(await statusOf(root, 'file/below/deeper'), 409);
  t.equal(await statusOf(join(root, 'nothing'), 'file'), 404);
});

void t.test('names that are too long for the disk are refused as such', async (t) => {
  const { root } = ground(t);
  t.equal(await statusOf(root, 'x'.repeat(255)), 200);
  t.equal(await statusOf(root, 'x'.repeat(256)), 400);
  t.equal(await statusOf(root, 'é'.repeat(128)), 400, 'bytes count, not characters');
  t.equal(await statusOf(root, `${'x'.repeat(256)}/file`), 400);
});

void t.test('the root may be a link, end in a slash, or be the root of the disk', async (t) => {
  const { root, outside } = ground(t);
  const alias = `${root}-alias`;
  symlinkSync(root, alias);
  t.equal(containedPath(alias, 'file'), join(root, 'file'), 'with the links of the root resolved');
  t.equal(containedPath(alias, 'new'), join(root, 'new'));
  t.equal(containedPath(`${root}${sep}`, 'folder/file'), join(root, 'folder', 'file'));
  await refuses(t, alias, '../outside/secret');
  await refuses(t, `${root}/`, '../outside/secret');
  await refuses(t, `${root}/`, `${root}/`);
  t.equal(containedPath('/', join(outside, 'secret')), join(outside, 'secret'));
  await refuses(t, '/', '/');
});

void t.test('no spelling of parts and links leads out', async (t) => {
  const { root, outside } = ground(t);
  symlinkSync(outside, join(root, 'out'));
  symlinkSync('..', join(root, 'up'));
  symlinkSync('folder', join(root, 'in'));
  const parts = [
    '..',
    '.',
    '',
    'folder',
    'file',
    'out',
    'up',
    'in',
    'secret',
    'root',
    'outside',
    '\0',
    '...',
  ];
  const random = seededRandom(42);
  let allowed = 0;
  for (let round = 0; round < 3000; round++) {
    const count = 1 + Math.floor(random() * 6);
    const path = Array.from({ length: count }, () => parts[Math.floor(random() * parts.length)]).join('/');
    let real: string;
    try {
      real = containedPath(root, path);
    } catch {
      continue;
    }
    allowed++;
    if (!real.startsWith(`${root}/`)) t.fail(`${JSON.stringify(path)} leads to ${real}`);
  }
  t.ok(allowed > 100, `${allowed} of 3000 lie below the root`);
  await Promise.resolve();
});

void t.test('a folder is its own when no link leads to it', (t) => {
  const { root, outside } = ground(t);
  mkdirSync(join(root, 'folder', 'deep'));
  for (const path of ['folder', './folder/', 'folder/deep', 'folder/../folder/deep'])
    t.equal(ownFolder(root, path), join(root, path.endsWith('deep') ? 'folder/deep' : 'folder'), path);
  symlinkSync(outside, join(root, 'out'));
  symlinkSync('folder', join(root, 'within'));
  symlinkSync('nowhere', join(root, 'dangling'));
  symlinkSync('.', join(root, 'folder', 'self'));
  for (const makes of [false, true]) {
    for (const path of [
      'out',
      'out/new',
      'within',
      'within/deep',
      'dangling',
      'folder/self/deep',
      '..',
      '.',
      '',
      'a/..',
      'x\0y',
    ])
      t.throws(() => ownFolder(root, path, makes), refusals.fileForbidden(), path);
    t.throws(() => ownFolder(root, 'file', makes), refusals.notDirectory('file'));
    t.throws(() => ownFolder(root, 'file/x', makes), refusals.notDirectory('file'));
  }
  t.throws(() => ownFolder(root, 'folder/new/new'), refusals.fileMissing());
  t.notOk(existsSync(join(root, 'folder', 'new')));
  t.equal(ownFolder(root, 'folder/new/new', true), join(root, 'folder/new/new'));
  t.ok(existsSync(join(root, 'folder', 'new', 'new')));
  symlinkSync(root, join(outside, 'alias'));
  t.equal(ownFolder(join(outside, 'alias'), 'folder'), join(root, 'folder'), 'the root itself may be a link');
  t.end();
});
