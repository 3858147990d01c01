/** How results of benches become tables. */
import { spawnSync } from 'node:child_process';
import { cpSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import t from 'tap';
import { scratchFolder, type Teardown } from '../support/scratch.js';

const ROOT = fileURLToPath(new URL('../../../', import.meta.url));

/** A copy of what the script reads and writes. */
function copy(t: Teardown): { folder: string; run: (...args: string[]) => ReturnType<typeof spawnSync> } {
  const folder = scratchFolder(t);
  for (const path of ['scripts/figures.js', 'bench/results', 'README.md', 'docs/performance.md']) {
    cpSync(join(ROOT, path), join(folder, path), { recursive: true });
  }
  writeFileSync(join(folder, 'package.json'), '{"type": "module"}');
  const script = join(folder, 'scripts/figures.js');
  return { folder, run: (...args) => spawnSync(process.execPath, [script, ...args], { encoding: 'utf8' }) };
}

void t.test('a new result is found by --check, and written without it', (t) => {
  const { folder, run } = copy(t);
  const page = join(folder, 'docs/performance.md');
  const machine = { cpu: 'Some CPU', cores: 3, memoryGiB: 7, kernel: '6.1', node: 'v20.1.0' };
  const figure = { unit: 'ms', median: 1_234_567, least: 1, most: 2_000_000 };
  const figures = [
    { ...figure, name: 'one | two', aim: 'at most 1 million' },
    { name: 'three', unit: '', median: 5, least: 5, most: 5, aim: 'at least 4' },
  ];
  const result = { bench: 'new', date: '2030-01-02T03:04:05Z', commit: 'abc', machine, figures };
  mkdirSync(join(folder, 'bench/results'), { recursive: true });
  writeFileSync(join(folder, 'bench/results/new.json'), JSON.stringify(result));

  const checked = run('--check');
  t.equal(checked.status, 1);
  t.match(checked.stderr, 'docs/performance.md is not what');
  t.notMatch(readFileSync(page, 'utf8'), 'Some CPU');

  t.equal(run().status, 0);
  const text = readFileSync(page, 'utf8');
  t.match(text, 'Commit abc, 2030-01-02; Some CPU, 3 cores, 7 GiB, Linux 6.1, Node.js 20.1.0.');
  t.match(text, '| one \\| two | 1.235 million ms | 1 to 2 million | at most 1 million: **missed** |');
  t.match(text, '| three | 5 |  | at least 4 |');
  t.equal(run('--check').status, 0);
  t.end();
});

void t.test('a figure of the README that is no longer measured is an error that names it', (t) => {
  const { folder, run } = copy(t);
  const path = join(folder, 'bench/results/fused.json');
  writeFileSync(path, readFileSync(path, 'utf8').replace('cells through two fused switches', 'cells'));
  const { status, stderr } = run();
  t.equal(status, 1);
  t.match(stderr, 'bench/results/fused.json has no figure "cells through two fused switches, one core"');
  t.end();
});
