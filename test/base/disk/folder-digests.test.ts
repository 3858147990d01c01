import { execFileSync } from 'node:child_process';
import { createHash, randomBytes } from 'node:crypto';
import { mkdirSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import t from 'tap';
import { digestTasks } from '../../../src/base/disk/folder-digests.js';
import { scratchFolder } from '../../support/scratch.js';

const notCancelled = new Int32Array(new SharedArrayBuffer(4));
const md5 = (bytes: string | Buffer): string => createHash('md5').update(bytes).digest('hex');

void t.test('every regular file is found, and links are not followed', (t) => {
  const root = scratchFolder(t);
  mkdirSync(join(root, 'a', 'b'), { recursive: true });
  for (const path of ['one', 'a/two', 'a/b/three', '.hidden']) writeFileSync(join(root, path), path);
  symlinkSync('/etc', join(root, 'a', 'out'));
  symlinkSync('one', join(root, 'link'));
  execFileSync('mkfifo', [join(root, 'pipe')]);
  t.same(digestTasks.findFiles({ root, limit: 100 }).sort(), ['.hidden', 'a/b/three', 'a/two', 'one']);
  t.same(digestTasks.findFiles({ root: join(root, 'none'), limit: 1 }), []);
  t.throws(() => digestTasks.findFiles({ root, limit: 2 }), { status: 409, message: /too many/ });
  t.end();
});

void t.test('a digest is of the whole file, and there is none of what cannot be read', (t) => {
  const root = scratchFolder(t);
  const large = randomBytes(3 * 1024 * 1024 + 17);
  writeFileSync(join(root, 'large'), large);
  writeFileSync(join(root, 'empty'), '');
  symlinkSync('/etc/passwd', join(root, 'out'));
  const digest = (path: string, cancelled = notCancelled): string | undefined =>
    digestTasks.md5OfFile({ root, path, cancelled });
  t.equal(digest('large'), md5(large));
  t.equal(digest('empty'), md5(''));
  for (const path of ['none', '.', '../x', 'out']) t.equal(digest(path), undefined, path);
  t.equal(digest('large', new Int32Array(new SharedArrayBuffer(4)).fill(1)), undefined, 'nobody wants it');
  t.end();
});
