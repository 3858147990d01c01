/** Reads what a test file writes, the Test Anything Protocol as the library `tap` writes it. */
import { existsSync, readFileSync } from 'node:fs';
import { SourceMap } from 'node:module';

/** The most lines of a failed assertion that are shown. */
const MOST_LINES = 60;
/** The last lines that a file wrote to standard error before it failed. */
const LAST_ERRORS = 30;

/** Reads the outermost level: `problem` is undefined when all is well; `skipReason` is there when nothing ran. */
export function reading(stdout) {
  const results = stdout.match(/^(?:not )?ok\b.*$/gm) ?? [];
  const failed = results.filter((line) => line.startsWith('not ok') && !/# TODO\b/i.test(line));
  const plan = /^1\.\.(\d+)(?: *# *(?:SKIP)? *(.*))?$/m.exec(stdout);
  const bail = /^Bail out!.*$/m.exec(stdout);
  if (bail !== null) return { problem: bail[0] };
  if (failed.length > 0) return { problem: `${failed.length} of ${results.length} tests failed` };
  if (plan === null) return { problem: 'it ended without a plan' };
  const planned = Number(plan[1]);
  if (planned !== results.length) return { problem: `${results.length} tests ran, ${planned} were planned` };
  return planned === 0 ? { skipReason: plan[2] ?? '' } : {};
}

/**
 * Takes apart what one process wrote of several files: what each would have written alone. The last is the one that ran
 * when the process ended.
 */
export function byFile(stdout, files) {
  const found = [];
  let rest = stdout;
  for (const file of files) {
    const ends = [...rest.matchAll(/^(?:not )?ok \d+ - (\S+)(?: # time=([\d.]+)ms)?.*$/gm)];
    const end = ends.find(([, name]) => name === file);
    const written = rest.slice(0, end?.index).replace(/^# Subtest: .*\n/m, '');
    found.push({ file, ms: Number(end?.[2] ?? 0), stdout: written.replace(/^ {4}/gm, '') });
    if (end === undefined) break;
    rest = rest.slice(end.index + end[0].length);
  }
  return found;
}

/** The reasons for which tests of a file were left out. */
export function leftOut({ stdout, skipReason }) {
  const reasons = [...stdout.matchAll(/^ *ok .*# (?:SKIP|TODO) ?(.*)$/gm)].map(([, reason]) => reason);
  return skipReason === undefined ? reasons : [...reasons, skipReason];
}

/** The file as one test among others. */
export function tapOf({ file, ok, problem, skipReason, ms, cpuMs, stdout, stderr }, number) {
  const skip = skipReason === undefined ? '' : ` # SKIP ${skipReason}`;
  return [
    `# Subtest: ${file}`,
    `    # processor time: ${Math.round(cpuMs)} ms`,
    indented(stdout, '    '),
    indented(stderr, '    # stderr: '),
    `${ok ? 'ok' : 'not ok'} ${number} - ${file}${skip === '' ? ` # time=${Math.round(ms)}ms` : skip}`,
    ...(ok ? [] : ['  ---', `  problem: ${JSON.stringify(problem)}`, '  ...']),
    '',
  ]
    .filter((part) => part !== undefined)
    .join('\n');
}

function indented(text, by) {
  const whole = text.replace(/\n$/, '');
  return whole === '' ? undefined : whole.replace(/^/gm, by);
}

/** Each failed assertion, below the names of its tests, with what was expected; and the end of standard error. */
export function failures({ stdout, stderr }) {
  const lines = stdout.split('\n');
  const names = [];
  /** Whether a test at this depth has told a failure of its own already. */
  const isTold = [];
  const found = [];
  lines.forEach((line, at) => {
    const depth = line.search(/\S/) / 4;
    const subtest = /^ *# Subtest: (.*)$/.exec(line);
    const result = /^ *(not )?ok \d+ ?-? ?(.*)$/.exec(line);
    if (!Number.isInteger(depth)) return;
    if (subtest !== null) {
      names[depth] = subtest[1];
      isTold[depth] = false;
    }
    if (result === null) return;
    const isFailure = result[1] !== undefined && !/# TODO\b/i.test(line);
    if (isFailure && isTold[depth] !== true)
      found.push([[...names.slice(0, depth), result[2]].join(' > '), ...diagnostics(lines, at)].join('\n'));
    isTold[depth] = false;
    if (isFailure && depth > 0) isTold[depth - 1] = true;
  });
  if (stderr !== '')
    found.push(['standard error:', ...stderr.trimEnd().split('\n').slice(-LAST_ERRORS)].join('\n'));
  return found.map((text) => indented(text, '  '));
}

/** The block below a result: `---`, lines, `...`. */
function diagnostics(lines, at) {
  if (lines[at + 1]?.trim() !== '---') return [];
  const end = lines.findIndex((line, index) => index > at && line.trim() === '...');
  const margin = lines[at + 1].search(/\S/);
  return lines.slice(at + 2, Math.min(end, at + 2 + MOST_LINES)).map((line) => `  ${line.slice(margin)}`);
}

/** Places in compiled files become those in the sources. */
export function inTypeScript(text) {
  return text.replace(/(?:\.dist-\w+|\bdist)\/([\w./-]+)\.js:(\d+):(\d+)/g, (place, file, line, column) => {
    const map = `dist/${file}.js.map`;
    if (!existsSync(map)) return place;
    const { originalLine, originalColumn } = new SourceMap(JSON.parse(readFileSync(map, 'utf8'))).findEntry(
      Number(line) - 1,
      Number(column) - 1,
    );
    return originalLine === undefined ? place : `${file}.ts:${originalLine + 1}:${originalColumn + 1}`;
  });
}
