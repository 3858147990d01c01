/**
 * Runs the tests: `npm test` those for every change, `npm run test:soak` the long ones. Files that are named after the
 * command are run instead, and options are handed to tap. Installs the Debian packages that tests need where it may,
 * and says at the end which tests were left out, and why.
 */
import { execFileSync, spawnSync } from 'node:child_process';
import { accessSync, constants, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { delimiter, join } from 'node:path';
import { fileURLToPath } from 'node:url';

process.chdir(fileURLToPath(new URL('..', import.meta.url)));

const LONG = 'soak';
const TESTS = 'dist/test';
/** Bursts of packets need receive buffers of this size, which a host grants when it is told to. */
const RECEIVE_BUFFER = 4 * 1024 * 1024;
const RECEIVE_BUFFER_LIMIT = '/proc/sys/net/core/rmem_max';
const isRoot = process.getuid?.() === 0;

const [tier, ...args] = process.argv.slice(2);
const isOption = (argument) => argument.startsWith('-');

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

function prepareHost() {
  const missing = missingPackages();
  if (missing.length > 0) {
    const install = ['install', '-yq', '--no-install-recommends', ...missing];
    if (isRoot && hasProgram('apt-get')) {
      const options = { stdio: 'inherit', env: { ...process.env, DEBIAN_FRONTEND: 'noninteractive' } };
      execFileSync('apt-get', ['update', '-q'], options);
      execFileSync('apt-get', install, options);
    } else {
      process.stdout.write(
        `Some tests need programs of Debian packages: apt-get install ${missing.join(' ')}\n`,
      );
    }
  }
  if (
    isRoot &&
    process.platform === 'linux' &&
    Number(readFileSync(RECEIVE_BUFFER_LIMIT, 'utf8')) < RECEIVE_BUFFER
  )
    writeFileSync(RECEIVE_BUFFER_LIMIT, String(RECEIVE_BUFFER));
}

function testFiles() {
  const named = args.filter((argument) => !isOption(argument));
  if (named.length > 0)
    return named.map((name) => name.replace(/^test\//, `${TESTS}/`).replace(/\.ts$/, '.js'));
  return readdirSync(TESTS, { recursive: true })
    .filter((name) => name.endsWith('.test.js') && name.startsWith(`${LONG}/`) === (tier === LONG))
    .map((name) => join(TESTS, name))
    .sort();
}

function tap(...options) {
  return spawnSync('node_modules/.bin/tap', options, { stdio: 'inherit' }).status;
}

/** The reasons for which tests were left out, with their numbers. */
function leftOut(text) {
  const reasons = new Map();
  for (const [, reason] of text.matchAll(/^ *ok .*# (?:SKIP|TODO) ?(.*)$/gm))
    reasons.set(reason, (reasons.get(reason) ?? 0) + 1);
  return reasons;
}

// Some tests run in both, with more rounds in the long one.
process.env.WIREFARM_TEST_TIER = tier;
const begun = performance.now();
prepareHost();
const output = `.tap/${tier}.tap`;
if (tap('build') !== 0) process.exit(1);
mkdirSync('.tap', { recursive: true });
const reporter = process.stdout.isTTY ? 'terse' : 'min';
const status = tap(
  `--reporter=${reporter}`,
  `--output-file=${output}`,
  ...args.filter(isOption),
  ...testFiles(),
);

const text = readFileSync(output, 'utf8');
const count = (pattern) => text.match(pattern)?.length ?? 0;
let skipped = 0;
for (const [reason, number] of leftOut(text)) {
  skipped += number;
  process.stdout.write(`left out: ${number} (${reason || 'no reason given'})\n`);
}
process.stdout.write(`took ${Math.round((performance.now() - begun) / 1000)} s\n`);
process.stdout.write(`${count(/^ok /gm)} passed, ${count(/^not ok /gm)} failed, ${skipped} skipped\n`);
process.exit(status ?? 1);
