/**
 * `npm run check`: types, rules and format, side by side, and a table of the areas of the source. What each says is
 * printed when it has ended; one that fails makes the check fail.
 */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

process.chdir(fileURLToPath(new URL('..', import.meta.url)));

const BIN = 'node_modules/.bin';

const CHECKS = {
  rules: [`${BIN}/oxlint`],
  types: [`${BIN}/tsc`, '-b', 'tsconfig.json', 'src/console'],
  format: [`${BIN}/oxfmt`, '--check'],
};

async function run(name, [program, ...args]) {
  const begun = performance.now();
  const child = spawn(program, args, { stdio: ['ignore', 'pipe', 'pipe'] });
  const output = [];
  for (const stream of [child.stdout, child.stderr]) stream.on('data', (bytes) => output.push(bytes));
  const [code] = await once(child, 'close');
  process.stdout.write(Buffer.concat(output));
  const ended = `${((performance.now() - begun) / 1000).toFixed(1)} s`;
  process.stdout.write(`${name}: ${code === 0 ? 'passed' : 'FAILED'} (${ended})\n`);
  return code === 0;
}

/** The areas of the source: files, lines, the median and the largest file of each. */
function printAreas() {
  const rows = readdirSync('src', { withFileTypes: true })
    .filter((entry) => entry.isDirectory())
    .map(({ name }) => areaRow(name))
    .sort((a, b) => b.lines - a.lines);
  const total = (of) => rows.reduce((sum, row) => sum + row[of], 0);
  print(['area', 'files', 'lines', 'median', 'largest file']);
  for (const { name, files, lines, median, largest } of rows)
    print([name, files, lines, median, `${largest.lines} ${largest.file}`]);
  print(['all', total('files'), total('lines'), '', '']);
}

function areaRow(name) {
  const folder = join('src', name);
  const files = readdirSync(folder, { recursive: true })
    .filter((file) => /\.tsx?$/.test(file))
    .map((file) => ({ file, lines: readFileSync(join(folder, file), 'utf8').split('\n').length - 1 }))
    .sort((a, b) => a.lines - b.lines);
  return {
    name,
    files: files.length,
    lines: files.reduce((sum, { lines }) => sum + lines, 0),
    median: files[files.length >> 1]?.lines,
    largest: files.at(-1),
  };
}

function print([name, files, lines, median, largest]) {
  const numbers = [files, lines, median].map((text) => String(text).padStart(7)).join('');
  process.stdout.write(`${`${name.padEnd(12)}${numbers}  ${largest}`.trimEnd()}\n`);
}

printAreas();
const passed = await Promise.all(Object.entries(CHECKS).map(([name, command]) => run(name, command)));
process.exitCode = passed.every(Boolean) ? 0 : 1;
