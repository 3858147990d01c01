import { existsSync, mkdirSync, readdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import t from 'tap';
import {
  createUnpublished,
  discardFile,
  publishBytes,
  publishFile,
  renameSynced,
  syncFolder,
  writeWhole,
} from '../../../src/base/disk/published-file.js';
import { scratchFolder } from '../../support/scratch.js';

void t.test('a file has its name only once it is published', (t) => {
  const folder = scratchFolder(t);
  const temporary = join(folder, 'tmp', 'deep');
  const target = join(folder, 'target');
  const file = createUnpublished(temporary, target);
  writeWhole(file.fd, Buffer.from('world'), 6);
  writeWhole(file.fd, Buffer.from('hello '), 0);
  t.notOk(existsSync(target));
  t.equal(readdirSync(temporary).length, 1);
  publishFile(file);
  t.equal(readFileSync(target, 'utf8'), 'hello world');
  t.same(readdirSync(temporary), []);
  t.end();
});

void t.test('a published file replaces the one before it', (t) => {
  const folder = scratchFolder(t);
  const target = join(folder, 'target');
  writeFileSync(target, 'a longer text than the next');
  publishBytes(join(folder, 'tmp'), target, Buffer.from('next'));
  t.equal(readFileSync(target, 'utf8'), 'next');
  t.end();
});

void t.test('a target that is a link is replaced, and what it points at is left alone', (t) => {
  const folder = scratchFolder(t);
  writeFileSync(join(folder, 'other'), 'theirs');
  symlinkSync(join(folder, 'other'), join(folder, 'target'));
  publishBytes(join(folder, 'tmp'), join(folder, 'target'), Buffer.from('ours'));
  t.equal(readFileSync(join(folder, 'other'), 'utf8'), 'theirs');
  t.equal(readFileSync(join(folder, 'target'), 'utf8'), 'ours');
  t.end();
});

void t.test('a discarded file leaves nothing', (t) => {
  const folder = scratchFolder(t);
  const file = createUnpublished(join(folder, 'tmp'), join(folder, 'target'));
  writeWhole(file.fd, Buffer.from('half'), 0);
  discardFile(file);
  t.same(readdirSync(folder), ['tmp']);
  t.same(readdirSync(join(folder, 'tmp')), []);
  t.end();
});

void t.test('a file that cannot have its name leaves nothing', (t) => {
  const folder = scratchFolder(t);
  mkdirSync(join(folder, 'target', 'full'), { recursive: true });
  t.throws(() => {
    publishBytes(join(folder, 'tmp'), join(folder, 'target'), Buffer.from('x'));
  });
  t.same(readdirSync(join(folder, 'tmp')), []);
  t.ok(existsSync(join(folder, 'target', 'full')));
  t.throws(() => {
    publishBytes(join(folder, 'tmp'), join(folder, 'nothing', 'target'), Buffer.from('x'));
  });
  t.same(readdirSync(join(folder, 'tmp')), []);
  t.end();
});

void t.test('bytes that cannot be written are an error and leave nothing', (t) => {
  const folder = scratchFolder(t);
  const file = createUnpublished(join(folder, 'tmp'), join(folder, 'target'));
  discardFile(file);
  t.throws(() => {
    writeWhole(file.fd, Buffer.from('x'), 0);
  });
  t.throws(() => {
    renameSynced(join(folder, 'missing'), join(folder, 'target'));
  });
  t.notOk(existsSync(join(folder, 'target')));
  t.end();
});

void t.test('two files on their way to one name do not meet, and the later one stays', (t) => {
  const folder = scratchFolder(t);
  const target = join(folder, 'target');
  const [first, second] = [1, 2].map(() => createUnpublished(join(folder, 'tmp'), target));
  if (first === undefined || second === undefined) throw new Error('no files');
  writeWhole(first.fd, Buffer.from('first'), 0);
  writeWhole(second.fd, Buffer.from('second'), 0);
  publishFile(second);
  publishFile(first);
  t.equal(readFileSync(target, 'utf8'), 'first');
  t.end();
});

void t.test('only a folder can be synced as one', (t) => {
  const folder = scratchFolder(t);
  syncFolder(folder);
  writeFileSync(join(folder, 'file'), '');
  t.throws(
    () => {
      syncFolder(join(folder, 'file'));
    },
    { code: 'ENOTDIR' },
  );
  t.end();
});
