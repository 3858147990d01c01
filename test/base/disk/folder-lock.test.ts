import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, readdirSync, renameSync, symlinkSync } from 'node:fs';
import { join } from 'node:path';
import t from 'tap';
import { lockFolders } from '../../../src/base/disk/folder-lock.js';
import { scratchFolder } from '../../support/scratch.js';

const MODULE = new URL('../../../src/base/disk/folder-lock.js', import.meta.url).href;

void t.test('folders are held once, whatever they are called, and nothing in them tells so', (t) => {
  const parent = scratchFolder(t);
  const [state, projects] = [join(parent, 'state'), join(parent, 'projects')];
  for (const folder of [state, projects]) mkdirSync(folder);
  lockFolders([state, projects]);
  const held = (folder: string): Error => new Error(`the folder ${folder} is held by another running server`);
  for (const folders of [[state], [scratchFolder(t), projects]]) {
    t.throws(
      () => {
        lockFolders(folders);
      },
      held(folders.at(-1) ?? ''),
    );
  }
  symlinkSync(state, join(parent, 'link'));
  t.throws(
    () => {
      lockFolders([join(parent, 'link')]);
    },
    held(join(parent, 'link')),
  );
  renameSync(projects, join(parent, 'moved'));
  t.throws(
    () => {
      lockFolders([join(parent, 'moved')]);
    },
    held(join(parent, 'moved')),
  );
  t.same(readdirSync(state), [], 'there is no file to delete');
  t.end();
});

void t.test('one folder may be several of them', (t) => {
  const folder = scratchFolder(t);
  symlinkSync(folder, join(folder, 'itself'));
  lockFolders([folder, `${folder}/`, join(folder, 'itself')]);
  t.pass();
  t.end();
});

void t.test('a process that is killed gives its folder back', async (t) => {
  const folder = scratchFolder(t);
  const program = `
    const { lockFolders } = await import(${JSON.stringify(MODULE)});
    lockFolders([${JSON.stringify(folder)}]);
    process.stdout.write('held');
    setInterval(() => undefined, 1000);`;
  const child = spawn(process.execPath, ['--input-type=module', '-e', program], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  const exited = once(child, 'exit');
  await once(child.stdout, 'data');
  t.throws(() => {
    lockFolders([folder]);
  }, /held by another running server/);
  child.kill('SIGKILL');
  await exited;
  lockFolders([folder]);
});

void t.test('a folder that is not there cannot be held', (t) => {
  t.throws(
    () => {
      lockFolders([join(scratchFolder(t), 'missing')]);
    },
    { code: 'ENOENT' },
  );
  t.end();
});
