/** The documents name files that are there, lead to pages that are there, and have the figures that were measured. */
import { execFileSync } from 'node:child_process';
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { dirname, join, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import t from 'tap';

const ROOT = fileURLToPath(new URL('../../', import.meta.url));
const PAGES = [
  ...readdirSync(ROOT).filter((name) => name.endsWith('.md')),
  ...readdirSync(join(ROOT, 'docs'), { recursive: true, encoding: 'utf8' })
    .filter((name) => name.endsWith('.md'))
    .map((name) => join('docs', name)),
];
const read = (path: string): string => readFileSync(join(ROOT, path), 'utf8');

/** Folders that paths begin with: those of the repository, and the areas of `src`. */
const TOPS = ['src', 'workers', 'test', 'bench', 'scripts', 'docs', 'assets'];
// The paths of nodes' consoles begin like the area of that name.
const AREAS = readdirSync(join(ROOT, 'src')).filter((name) => name !== 'console');
const FIRST = [...TOPS, ...AREAS].join('|');
/** A path in backticks: one that begins with such a folder, or a source file in any. */
const PATH = new RegExp(`\`((?:${FIRST})/[\\w./-]*|(?:[\\w-]+/)+[\\w.-]+\\.[jt]s)\``, 'g');

const isThere = (path: string): boolean =>
  existsSync(join(ROOT, path)) || existsSync(join(ROOT, 'src', path));

void t.test('every path in backticks is one of the repository', (t) => {
  let count = 0;
  for (const page of PAGES) {
    for (const [, path = ''] of read(page).matchAll(PATH)) {
      count++;
      if (!isThere(path)) t.fail(`${page} names ${path}`);
    }
  }
  t.ok(count > 100, `${count} paths were looked for`);
  t.end();
});

void t.test('every link leads to a page of the repository', (t) => {
  let count = 0;
  for (const page of PAGES) {
    for (const [, target = ''] of read(page).matchAll(/\]\(([^)#\s]+)[^)]*\)/g)) {
      if (/^https?:/.test(target)) continue;
      count++;
      if (!existsSync(resolve(ROOT, dirname(page), target))) t.fail(`${page} leads to ${target}`);
    }
  }
  t.ok(count > 30, `${count} links were followed`);
  t.end();
});

void t.test('every page can be reached from the README', (t) => {
  const reached = new Set(['README.md']);
  for (const page of reached) {
    for (const [, target = ''] of read(page).matchAll(/\]\(([^)#\s]+\.md)[^)]*\)/g)) {
      if (!/^https?:/.test(target)) reached.add(join(dirname(page), target));
    }
  }
  t.same(
    PAGES.filter((page) => !reached.has(page)),
    [],
  );
  t.end();
});

void t.test('the figures of the documents are those of bench/results', (t) => {
  execFileSync(process.execPath, [join(ROOT, 'scripts/figures.js'), '--check'], { stdio: 'pipe' });
  t.pass();
  t.end();
});
