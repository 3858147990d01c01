import { spawnSync } from 'node:child_process';
import { mkdirSync, readdirSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import t from 'tap';
import { symbolTasks } from '../../../src/lab/symbols/symbol-tasks.js';
import { scratchFolder } from '../../support/scratch.js';

const PICTURE = '<svg width="6" height="7"/>';
const SIZE = { width: 6, height: 7 };
const MOST = 100;
const LARGEST = 1000;

void t.test('a folder that is not there is made, and is empty', (t) => {
  const folder = join(scratchFolder(t), 'deep', 'symbols');
  t.same(symbolTasks.listSymbols({ folder, most: MOST }), []);
  t.same(readdirSync(folder), []);
  t.end();
});

void t.test('remains of uploads that a crash has left are removed', (t) => {
  const folder = scratchFolder(t);
  mkdirSync(join(folder, 'tmp'));
  writeFileSync(join(folder, 'tmp', 'half.tmp'), 'half');
  symbolTasks.listSymbols({ folder, most: MOST });
  t.same(readdirSync(folder), []);
  t.end();
});

void t.test('pictures are found at every depth, sorted by name', (t) => {
  const folder = scratchFolder(t);
  mkdirSync(join(folder, 'b', 'deep'), { recursive: true });
  for (const name of ['z.svg', 'b/deep/a.SVG', 'a.svg', '.hidden.svg', 'notes.txt', 'svg']) {
    writeFileSync(join(folder, name), PICTURE);
  }
  writeFileSync(join(folder, 'broken.png'), 'no picture');
  t.same(symbolTasks.listSymbols({ folder, most: MOST }), ['a.svg', 'b/deep/a.SVG', 'broken.png', 'z.svg']);
  t.equal(symbolTasks.listSymbols({ folder, most: 2 }).length, 2);
  const sizeOf = (name: string): unknown => symbolTasks.readSymbolSize({ folder, name, largest: LARGEST });
  t.same(sizeOf('b/deep/a.SVG'), SIZE);
  t.equal(sizeOf('broken.png'), undefined);
  writeFileSync(join(folder, 'z.svg'), PICTURE + ' '.repeat(LARGEST));
  t.equal(sizeOf('z.svg'), undefined, 'it is too large');
  t.end();
});

void t.test('links, FIFOs and folders are no pictures', (t) => {
  const folder = scratchFolder(t);
  const outside = scratchFolder(t);
  writeFileSync(join(outside, 'secret.svg'), PICTURE);
  symlinkSync(join(outside, 'secret.svg'), join(folder, 'link.svg'));
  symlinkSync(outside, join(folder, 'out'));
  mkdirSync(join(folder, 'folder.svg'));
  t.equal(spawnSync('mkfifo', [join(folder, 'fifo.svg')]).status, 0);
  t.same(symbolTasks.listSymbols({ folder, most: MOST }), []);
  for (const name of ['link.svg', 'out/secret.svg', 'fifo.svg', 'folder.svg', '../x.svg', 'missing.svg']) {
    t.equal(symbolTasks.readSymbolSize({ folder, name, largest: LARGEST }), undefined, name);
  }
  t.end();
});
