/**
 * Runs the tests: `npm test` those for every change, `npm run test:soak` the long ones. Files that are named after the
 * command are run instead; `--jobs=N` says how many run at once. Installs the Debian packages that tests need where it
 * may, and says at the end which tests were left out, and why. Everything the files say goes to `.tap/<tier>.tap`.
 * A few files that fail beside others run once more alone, and are told as unstable when they pass then.
 */
import { execFileSync } from 'node:child_process';
import {
  accessSync,
  closeSync,
  constants,
  existsSync,
  mkdirSync,
  openSync,
  readdirSync,
  readFileSync,
  renameSync,
  writeFileSync,
  writeSync,
} from 'node:fs';
import { availableParallelism } from 'node:os';
import { delimiter, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { endedCpuMs, killAll, runFile, runFiles } from './test-file.js';
import { inOrder, inTurn } from './test-order.js';
import { failures, inTypeScript, leftOut, tapOf } from './test-output.js';

process.chdir(fileURLToPath(new URL('..', import.meta.url)));

const LONG = 'soak';
const TESTS = 'dist/test';
const BUNDLED_LIBRARY = 'dist/node_modules';
/** Where several files share a process, what each imports as its outermost test is one of that process's tests. */
const LIBRARY_OF_A_FILE = `import root from '../@tapjs/index.js';
export * from '../@tapjs/index.js';
let outermost = root;
export { outermost as default };
export function runIn(test) {
  outermost = test;
}
`;
/** Bursts of packets need receive buffers of this size, which a host grants when it is told to. */
const RECEIVE_BUFFER = 4 * 1024 * 1024;
const RECEIVE_BUFFER_LIMIT = '/proc/sys/net/core/rmem_max';
const NON_FREE = new Set(['dynamips']);
const isRoot = process.getuid?.() === 0;
/** Half of the time of many files is waiting. More than four would share UDP ports (test/support/server-process.ts). */
const JOBS = Math.min(2 * availableParallelism(), 4);
const SLOWEST_SHOWN = 10;
const PROGRESS_EVERY = 50;
/** Failures of one file that are printed; the others are in the file of all output. */
const MOST_FAILURES = 5;
/** So many files that failed beside others run once more by themselves. More than that are no accident. */
const MOST_RUN_AGAIN = 5;

const [tier, ...args] = process.argv.slice(2);
/** Nothing is judged by its time: this only ends what hangs. A loaded machine may have a multiple of it. */
const LONGEST_FILE_S = (tier === LONG ? 1800 : 600) * Number(process.env.WIREFARM_TEST_PATIENCE ?? 1);

function hasProgram(name) {
  const folders = [...(process.env.PATH ?? '').split(delimiter), '/usr/sbin', '/sbin'];
  return folders.some((folder) => {
    try {
      accessSync(join(folder, name), constants.X_OK);
      return true;
    } catch {
      return false;
    }
  });
}

function missingPackages() {
  return readFileSync('test/packages.txt', 'utf8')
    .split('\n')
    .filter((line) => line !== '' && !line.startsWith('#'))
    .map((line) => line.split(' '))
    .filter(([program]) => !hasProgram(program))
    .flatMap(([, ...packages]) => packages);
}

/** Makes the packages that Debian has in its component non-free known to apt, from the mirror of Debian's own sources. */
function addNonFree() {
  const sources = '/etc/apt/sources.list.d';
  const debian = `${sources}/debian.sources`;
  if (!existsSync(debian)) return;
  const lines = readFileSync(debian, 'utf8').split('\n\n')[0].split('\n');
  const kept = lines.filter((line) => /^(Types|URIs|Suites|Signed-By):/.test(line));
  writeFileSync(`${sources}/wirefarm-non-free.sources`, [...kept, 'Components: non-free', ''].join('\n'));
}

function prepareHost() {
  const missing = missingPackages();
  if (missing.length > 0) {
    const [nonFree, free] = [
      missing.filter((name) => NON_FREE.has(name)),
      missing.filter((name) => !NON_FREE.has(name)),
    ];
    if (isRoot && hasProgram('apt-get')) {
      const options = { stdio: 'inherit', env: { ...process.env, DEBIAN_FRONTEND: 'noninteractive' } };
      const install = (names) =>
        execFileSync('apt-get', ['install', '-yq', '--no-install-recommends', ...names], options);
      if (nonFree.length > 0) addNonFree();
      execFileSync('apt-get', ['update', '-q'], options);
      if (free.length > 0) install(free);
      try {
        if (nonFree.length > 0) install(nonFree);
      } catch {
        say(`This host has no packages of the component non-free: ${nonFree.join(' ')}`);
      }
    } else {
      say(`Some tests need programs of Debian packages: apt-get install ${missing.join(' ')}`);
    }
  }
  if (
    isRoot &&
    process.platform === 'linux' &&
    Number(readFileSync(RECEIVE_BUFFER_LIMIT, 'utf8')) < RECEIVE_BUFFER
  )
    writeFileSync(RECEIVE_BUFFER_LIMIT, String(RECEIVE_BUFFER));
}

/**
 * The library of assertions is installed with the plugins that .taprc leaves out, and in hundreds of small files, which
 * take longer to load than most test files to run. So it lies bundled where test files look first. By the name of its
 * folder it tells its own calls from those of a test.
 */
async function prepareLibrary() {
  const plugins = readFileSync('node_modules/@tapjs/test/test-built/dist/esm/index.js', 'utf8');
  if (plugins.includes('@tapjs/typescript'))
    execFileSync('node_modules/.bin/tap', ['build'], { stdio: ['ignore', 'ignore', 'inherit'] });
  if (existsSync(BUNDLED_LIBRARY)) return;
  const { build } = await import('esbuild');
  const unfinished = `dist/library.${process.pid}`;
  await build({
    entryPoints: ['node_modules/tap/dist/esm/index.js'],
    outfile: `${unfinished}/@tapjs/index.js`,
    bundle: true,
    platform: 'node',
    target: 'es2022',
    format: 'esm',
    banner: {
      js: "import { createRequire as requireFor } from 'node:module'; const require = requireFor(import.meta.url);",
    },
    logLevel: 'warning',
  });
  mkdirSync(`${unfinished}/tap`);
  writeFileSync(`${unfinished}/tap/package.json`, '{ "type": "module", "exports": "./index.js" }\n');
  writeFileSync(`${unfinished}/tap/index.js`, LIBRARY_OF_A_FILE);
  renameSync(unfinished, BUNDLED_LIBRARY);
}

const named = args.filter((argument) => !argument.startsWith('-'));

function testFiles() {
  if (named.length > 0)
    return named.map((name) => name.replace(/^test\//, `${TESTS}/`).replace(/\.ts$/, '.js'));
  return readdirSync(TESTS, { recursive: true })
    .filter((name) => name.endsWith('.test.js') && name.startsWith(`${LONG}/`) === (tier === LONG))
    .map((name) => join(TESTS, name))
    .sort();
}

function jobs() {
  const given = args.find((argument) => argument.startsWith('--jobs='));
  return given === undefined ? JOBS : Number(given.slice('--jobs='.length));
}

function say(line) {
  process.stdout.write(`${line}\n`);
}

const seconds = (ms) => `${(ms / 1000).toFixed(1)} s`;

/** Runs the files, some at a time but one browser at most; hands over each result when it is there. */
async function runAll(files, done) {
  // Sizes tell nothing about the long tests, and a file that is named is to be by itself.
  const waiting = tier === LONG || named.length > 0 ? inTurn(files) : inOrder(files);
  let browsers = 0;
  /** A file with a browser goes first when there is none, since they take longest. */
  const next = () => {
    const first = waiting.findIndex(({ hasBrowser }) => hasBrowser === (browsers === 0));
    return waiting.splice(Math.max(first, 0), 1)[0];
  };
  const work = async (_, job) => {
    for (let each = next(); each !== undefined; each = next()) {
      browsers += Number(each.hasBrowser);
      await runFiles(each.files, job, LONGEST_FILE_S, done);
      browsers -= Number(each.hasBrowser);
    }
  };
  await Promise.all(Array.from({ length: jobs() }, work));
}

for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP']) {
  process.once(signal, () => {
    killAll();
    process.exit(1);
  });
}

// Some tests run in both, with more rounds in the long one.
process.env.WIREFARM_TEST_TIER = tier;
const begun = performance.now();
prepareHost();
await prepareLibrary();
mkdirSync('.tap', { recursive: true });
const output = `.tap/${tier}.tap`;
const log = openSync(output, 'w');
const firstTries = openSync(`.tap/${tier}-first-tries.tap`, 'w');
const files = testFiles();
const results = [];
const failed = [];

function record(result) {
  results.push(result);
  writeSync(log, tapOf(result, results.length));
}

function tell(result) {
  say(`FAILED ${result.file} (${seconds(result.ms)}): ${result.problem}`);
  const told = failures(result);
  for (const failure of told.slice(0, MOST_FAILURES)) say(inTypeScript(failure));
  if (told.length > MOST_FAILURES) say(`  and ${told.length - MOST_FAILURES} more: see ${output}`);
}

let ended = 0;
await runAll(files, (result) => {
  ended++;
  if (result.ok) record(result);
  else {
    failed.push(result);
    tell(result);
  }
  if (ended % PROGRESS_EVERY === 0 && ended < files.length)
    say(`${ended} of ${files.length} files, ${failed.length} failed, ${seconds(performance.now() - begun)}`);
});

const isRunAgain = named.length === 0 && failed.length <= MOST_RUN_AGAIN;
const unstable = [];
for (const first of failed) {
  const result = isRunAgain ? await runFile(first.file, 0, LONGEST_FILE_S) : first;
  record(result);
  if (!result.ok) {
    if (isRunAgain) tell(result);
    continue;
  }
  unstable.push(first);
  writeSync(firstTries, tapOf(first, unstable.length));
}
writeSync(log, `1..${results.length}\n`);
closeSync(log);
closeSync(firstTries);

const skips = new Map();
for (const reason of results.flatMap(leftOut)) skips.set(reason, (skips.get(reason) ?? 0) + 1);
let skipped = 0;
for (const [reason, number] of skips) {
  skipped += number;
  say(`left out: ${number} (${reason || 'no reason given'})`);
}
say('the slowest files, with their processor time:');
for (const { file, ms, cpuMs } of results.toSorted((a, b) => b.ms - a.ms).slice(0, SLOWEST_SHOWN))
  say(`${seconds(ms).padStart(9)} ${seconds(cpuMs).padStart(9)} ${file}`);
for (const { file, problem } of unstable) say(`UNSTABLE ${file}: beside others ${problem}; alone it passed`);
const stillFailed = results.filter(({ ok }) => !ok);
for (const { file, problem } of stillFailed) say(`FAILED ${file}: ${problem}`);
say(
  `took ${Math.round((performance.now() - begun) / 1000)} s, ${Math.round(endedCpuMs() / 1000)} s of processor time`,
);
say(`${results.length - stillFailed.length} passed, ${stillFailed.length} failed, ${skipped} skipped`);
process.exitCode = stillFailed.length === 0 && results.length > 0 ? 0 : 1;
