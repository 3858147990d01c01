import { createHash } from 'node:crypto';
import { execFileSync } from 'node:child_process';
import { existsSync, mkdirSync, readdirSync, symlinkSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import t from 'tap';
import { imageTasks } from '../../../src/files/images/image-tasks.js';
import type { Emulator } from '../../../src/files/images/image-name.js';
import { performTask } from '../../../src/base/threads/task.js';
import { RandomBytes } from '../../support/random.js';
import { scratchFolder } from '../../support/scratch.js';

const IOU = Buffer.from('7f454c46010101ffff', 'hex');
const IOS = Buffer.from('7f454c46010201ffff', 'hex');

function put(root: string, path: string, content: string | Uint8Array = 'any content'): void {
  mkdirSync(dirname(join(root, path)), { recursive: true });
  writeFileSync(join(root, path), content);
}

const paths = (root: string, emulator: Emulator): string[] =>
  imageTasks.listImages({ root, emulator }).map(({ path }) => path);

async function statusOf(task: string, input: unknown): Promise<number | undefined> {
  const outcome = await performTask(imageTasks, { task, input });
  return 'failure' in outcome ? outcome.failure.status : 200;
}

const wordOf = (value: number): Int32Array<SharedArrayBuffer> => {
  const word = new Int32Array(new SharedArrayBuffer(4));
  word[0] = value;
  return word;
};

void t.test('where there is no folder there are no images', (t) => {
  const root = join(scratchFolder(t), 'images');
  t.same(paths(root, 'qemu'), []);
  t.equal(imageTasks.findImage({ root, emulator: 'qemu', name: 'x' }), undefined);
  mkdirSync(root);
  t.same(paths(root, 'iou'), []);
  t.end();
});

void t.test('images are listed where they belong, and other files are not', (t) => {
  const root = scratchFolder(t);
  for (const [path, content] of [
    ['QEMU/b.img', '1234567'],
    ['QEMU/a.img', 'content'],
    ['QEMU/sub/deep/x.img', 'content'],
    ['QEMU/other/x.img', 'content'],
    ['QEMU/short', '123456'],
    ['QEMU/empty', ''],
    ['QEMU/.hidden', 'content'],
    ['QEMU/.folder/x.img', 'content'],
    ['QEMU/a.img.md5sum', 'content'],
    ['QEMU/x.img.tmp', 'content'],
    ['QEMU/program', IOU],
    ['IOU/program', IOU],
    ['IOU/router', IOS],
    ['IOS/router', IOS],
    ['IOS/program', IOU],
    ['QEMU_evil/x.img', 'content'],
    ['legacy.img', 'content'],
    ['a.img', 'the name is taken'],
    ['program', 'taken, although the other one is no image'],
    ['router', IOS],
    ['1/2/x.img', 'no folder of an emulator'],
  ] as const)
    put(root, path, content);
  t.same(paths(root, 'qemu'), [
    'QEMU/a.img',
    'QEMU/b.img',
    'QEMU/other/x.img',
    'QEMU/sub/deep/x.img',
    'legacy.img',
  ]);
  t.same(paths(root, 'iou'), ['IOU/program']);
  t.same(paths(root, 'dynamips'), ['IOS/router']);
  t.end();
});

void t.test('eight folders deep, and not deeper', (t) => {
  const root = scratchFolder(t);
  put(root, 'QEMU/1/2/3/4/5/6/7/8/x.img');
  put(root, 'QEMU/1/2/3/4/5/6/7/8/9/y.img');
  t.same(paths(root, 'qemu'), ['QEMU/1/2/3/4/5/6/7/8/x.img']);
  t.end();
});

void t.test('planted links, FIFOs and folders that cannot be looked into', async (t) => {
  const root = scratchFolder(t);
  const outside = scratchFolder(t);
  put(outside, 'secret.img');
  put(root, 'QEMU/x.img');
  symlinkSync(join(outside, 'secret.img'), join(root, 'QEMU/out.img'));
  symlinkSync(outside, join(root, 'QEMU/out'));
  symlinkSync('x.img', join(root, 'QEMU/in.img'));
  symlinkSync('in2', join(root, 'QEMU/in2'));
  execFileSync('mkfifo', [join(root, 'QEMU/fifo')]);
  t.same(paths(root, 'qemu'), ['QEMU/x.img']);
  const find = (name: string): Promise<number | undefined> =>
    statusOf('findImage', { root, emulator: 'qemu', name });
  t.equal(await find('out.img'), 403);
  t.equal(await find('out/secret.img'), 403);
  t.equal(await find('in.img'), 200);
  t.equal(await find('in2'), 403);
  for (const path of ['QEMU/out.img', 'QEMU/in.img', 'QEMU/fifo', 'QEMU/out/secret.img', '../x'])
    t.equal(await statusOf('removeImage', { root, path }), 403, path);
  t.equal(await statusOf('removeImage', { root, path: 'QEMU' }), 409);
  t.same(readdirSync(outside), ['secret.img']);
  t.same(readdirSync(join(root, 'QEMU')).sort(), ['fifo', 'in.img', 'in2', 'out', 'out.img', 'x.img']);
  t.equal(await statusOf('digestImage', { root, path: 'QEMU/fifo', cancelled: wordOf(0) }), 403);

  symlinkSync(outside, join(root, 'IOU'));
  t.equal(await statusOf('listImages', { root, emulator: 'iou' }), 403);
  t.equal(await statusOf('findImage', { root, emulator: 'iou', name: 'secret.img' }), 403);
});

void t.test('a name alone is found in folders and among the old ones, a path only where it says', (t) => {
  const root = scratchFolder(t);
  const find = (name: string): string | undefined => imageTasks.findImage({ root, emulator: 'qemu', name });
  put(root, 'x.img');
  t.equal(find('x.img'), 'x.img');
  put(root, 'QEMU/b/x.img');
  put(root, 'QEMU/a/z/x.img');
  t.equal(find('x.img'), 'QEMU/a/z/x.img');
  put(root, 'QEMU/x.img', '');
  t.equal(find('x.img'), 'QEMU/x.img', 'also when it is none that would be listed');
  t.equal(find('b/x.img'), 'QEMU/b/x.img');
  t.equal(find('c/x.img'), undefined);
  t.equal(find('z/x.img'), undefined);
  t.equal(find('x.img/y'), undefined);
  t.equal(find('IOU'), undefined);
  t.end();
});

void t.test('an image goes with the file beside it', (t) => {
  const root = scratchFolder(t);
  for (const path of ['QEMU/x.img', 'QEMU/x.img.md5sum', 'old.img', 'old.img.md5sum', 'QEMU/y.img'])
    put(root, path);
  imageTasks.removeImage({ root, path: 'QEMU/x.img' });
  imageTasks.removeImage({ root, path: 'old.img' });
  t.same(readdirSync(join(root, 'QEMU')), ['y.img']);
  t.notOk(existsSync(join(root, 'old.img.md5sum')));
  t.throws(() => {
    imageTasks.removeImage({ root, path: 'QEMU/x.img' });
  });
  t.end();
});

void t.test('the digests of an image that are asked for, of one version', (t) => {
  const root = scratchFolder(t);
  for (const length of [0, 1, 1024 * 1024, 2_500_000]) {
    const content = new RandomBytes(length).next(length);
    put(root, 'QEMU/x.img', content);
    const image = { root, path: 'QEMU/x.img', cancelled: wordOf(0) };
    const found = imageTasks.digestImage({ ...image, digests: ['md5', 'sha-256'] });
    const md5 = createHash('md5').update(content).digest('hex');
    const sha256 = createHash('sha256').update(content).digest('hex');
    t.match(found, { size: length, digests: { md5, 'sha-256': sha256 }, version: String });
    t.strictSame(imageTasks.digestImage({ ...image, digests: ['md5'] })?.digests, { md5 });
    if (length >= 7) t.equal(found?.version, imageTasks.listImages({ root, emulator: 'qemu' })[0]?.version);
  }
  const unwanted = { root, path: 'QEMU/x.img', digests: ['md5'] as const, cancelled: wordOf(1) };
  t.equal(imageTasks.digestImage(unwanted), undefined);
  t.end();
});

void t.test('the first files of too many are listed, and the others are found by name', (t) => {
  const root = scratchFolder(t);
  mkdirSync(join(root, 'QEMU'));
  for (let index = 0; index <= 10_000; index++) writeFileSync(join(root, 'QEMU', String(index)), 'an image');
  const listed = imageTasks.listImages({ root, emulator: 'qemu' });
  t.equal(listed.length, 10_000);
  t.equal(imageTasks.findImage({ root, emulator: 'qemu', name: '9999' }), 'QEMU/9999');
  t.end();
});
