import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import t, { type Test } from 'tap';
import { TaskPool } from '../../../src/base/threads/task-pool.js';
import { SymbolLibrary } from '../../../src/lab/symbols/symbol-library.js';
import type { SymbolTasks } from '../../../src/lab/symbols/symbol-tasks.js';
import { scratchFolder } from '../../support/scratch.js';

async function openLibrary(t: Test, files: Readonly<Record<string, string>>): Promise<SymbolLibrary> {
  const folder = join(scratchFolder(t), 'symbols');
  mkdirSync(join(folder, 'mine'), { recursive: true });
  for (const [name, content] of Object.entries(files)) writeFileSync(join(folder, name), content);
  const worker = new URL('../../../workers/file-worker.js', import.meta.url);
  const pool = new TaskPool<SymbolTasks>({ worker, threads: 1, queueLimit: 10 });
  t.teardown(() => pool.close());
  const library = new SymbolLibrary(folder, pool);
  await library.start();
  return library;
}

const picture = (width: number, height: number): string => `<svg width="${width}" height="${height}"/>`;

void t.test('custom symbols are listed among the built-in ones, by theme', async (t) => {
  const library = await openLibrary(t, { 'mine/router.svg': picture(1, 2) });
  const list = library.list();
  t.same(
    list.filter((entry) => !entry.builtin),
    [{ builtin: false, filename: 'router.svg', symbol_id: 'mine/router.svg', theme: 'Custom symbols' }],
  );
  t.same(
    list.map((entry) => entry.theme),
    list.map((entry) => entry.theme).toSorted(),
  );
  t.equal(new Set(list.map((entry) => entry.symbol_id)).size, list.length);
});

void t.test('a custom symbol is a file, a built-in one is drawn', async (t) => {
  const library = await openLibrary(t, { 'own.svg': picture(10, 20) });
  t.same(library.picture('own.svg'), { file: 'own.svg' });
  t.match(library.picture(':/symbols/router.svg'), { svg: /^<svg/ });
  t.same(await library.size('own.svg'), { width: 10, height: 20 });
  t.same(await library.size(':/symbols/router.svg'), { width: 66, height: 45 });
});

void t.test('an unknown symbol looks like a computer', async (t) => {
  const library = await openLibrary(t, {});
  for (const id of ['', 'nothing.svg', '../../etc/passwd', 'constructor']) {
    t.same(library.picture(id), library.picture(':/symbols/computer.svg'), id);
    t.match(library.nodeSize(id), { width: 65, height: 59 });
  }
});

void t.test('a custom symbol without a size gives its node that of a computer', async (t) => {
  const library = await openLibrary(t, { 'broken.svg': 'no picture' });
  t.equal(await library.size('broken.svg'), undefined);
  t.match(library.nodeSize('broken.svg'), { width: 65, height: 59 });
});

void t.test('a size is read once, when it is first asked for', async (t) => {
  const asked: string[] = [];
  const files = {
    run: (task: string): Promise<unknown> => {
      asked.push(task);
      return Promise.resolve(task === 'listSymbols' ? ['own.svg', 'other.svg'] : { width: 3, height: 4 });
    },
  } as unknown as TaskPool<SymbolTasks>;
  const library = new SymbolLibrary('/nowhere', files);
  await library.start();
  t.equal(library.list().filter(({ builtin }) => !builtin).length, 2);
  t.same(asked, ['listSymbols']);
  t.same(await Promise.all([library.size('own.svg'), library.size('own.svg')]), [
    { width: 3, height: 4 },
    { width: 3, height: 4 },
  ]);
  t.same(library.nodeSize('own.svg'), { width: 3, height: 4 });
  t.same(asked, ['listSymbols', 'readSymbolSize']);
});

void t.test('a picture that is added or replaced is known with its size', async (t) => {
  const library = await openLibrary(t, { 'own.svg': picture(10, 20) });
  writeFileSync(join(library.folder, 'own.svg'), picture(30, 40));
  writeFileSync(join(library.folder, 'new.svg'), picture(50, 60));
  t.same(library.picture('new.svg'), library.picture('nothing.svg'));
  library.added('own.svg');
  library.added('new.svg');
  t.same(await Promise.all([library.size('own.svg'), library.size('new.svg')]), [
    { width: 30, height: 40 },
    { width: 50, height: 60 },
  ]);
  t.same(library.nodeSize('own.svg'), { width: 30, height: 40 });
  t.same(library.nodeSize('new.svg'), { width: 50, height: 60 });
  t.same(library.picture('new.svg'), { file: 'new.svg' });
});
