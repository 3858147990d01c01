import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import t from 'tap';
import { lockFolder } from '../../src/storage/folder-lock.js';
import { scratchFolder } from '../support/scratch.js';

const MODULE = new URL('../../src/storage/folder-lock.js', import.meta.url).href;

void t.test('a folder is held once, and the lock tells by whom', (t) => {
  const folder = scratchFolder(t);
  lockFolder(folder);
  t.equal(readFileSync(join(folder, 'lock'), 'utf8'), `${process.pid}\n`);
  t.throws(
    () => {
      lockFolder(folder);
    },
    new Error(`the folder ${folder} is held by another running server`),
  );
  t.equal(readFileSync(join(folder, 'lock'), 'utf8'), `${process.pid}\n`, 'who is refused writes nothing');
  lockFolder(scratchFolder(t));
  t.end();
});

void t.test('a process that is killed gives its folder back', async (t) => {
  const folder = scratchFolder(t);
  const program = `
    const { lockFolder } = await import(${JSON.stringify(MODULE)});
    lockFolder(${JSON.stringify(folder)});
    process.stdout.write('held');
    setInterval(() => undefined, 1000);`;
  const child = spawn(process.execPath, ['--input-type=module', '-e', program], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  const exited = once(child, 'exit');
  await once(child.stdout, 'data');
  t.throws(() => {
    lockFolder(folder);
  }, /held by another running server/);
  child.kill('SIGKILL');
  await exited;
  lockFolder(folder);
  t.equal(readFileSync(join(folder, 'lock'), 'utf8'), `${process.pid}\n`);
});

void t.test('a folder that is not there cannot be held', (t) => {
  t.throws(
    () => {
      lockFolder(join(scratchFolder(t), 'missing'));
    },
    { code: 'ENOENT' },
  );
  t.end();
});
