/**
 * Builds the server, its workers, the console, the benches and the tests: `dist` is a link to a folder that is named after the
 * sources it was made of. A build makes a folder of its own, gives it its name when it is whole, and then moves the
 * link, so that nothing changes below a program that runs. When the link names the sources as they are, nothing runs.
 *
 * Each module is compiled by itself, for tests and benches that import single ones. What starts a process or a thread
 * stands in its place bundled: to load some large files takes a fraction of the time of hundreds of small ones.
 *
 * `npm pack` takes no links along. For it, `--packed` makes `dist` a folder of its own and lays the list of the exact
 * versions of all packages beside it; the next build removes both.
 */
import { createHash } from 'node:crypto';
import {
  copyFileSync,
  existsSync,
  linkSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  renameSync,
  rmSync,
  statSync,
  symlinkSync,
} from 'node:fs';
import { readFile } from 'node:fs/promises';
import { dirname, join, relative } from 'node:path';
import { fileURLToPath } from 'node:url';
import { buildConsole } from './console.js';

const ROOT = fileURLToPath(new URL('..', import.meta.url));
const LINK = join(ROOT, 'dist');
const SOURCES = ['src', 'workers', 'bench', 'test'];
/** Other files that decide what a build is like. */
const SETTINGS = [
  'tsconfig.json',
  'package.json',
  'package-lock.json',
  'scripts/build.js',
  'scripts/console.js',
];
const PREFIX = '.dist-';
/** The lists of versions: that of a clone, and that which npm installs a package by. */
const LOCK = join(ROOT, 'package-lock.json');
const PACKED_LOCK = join(ROOT, 'npm-shrinkwrap.json');
/** Builds that are kept, because a program may still run from them. */
const KEPT = 4;

/** The programs, beside all in `workers`; and the client of the tests, since it loads the route table. */
const PROGRAMS = [
  'src/server/main.ts',
  'src/server/keeper-main.ts',
  'src/server/move-main.ts',
  'src/cli/main.ts',
  'test/support/client.ts',
];
/** The packages that go into the bundles: of many modules, and without native code or threads that are used. */
const INLINED = ['zod', 'pino', 'msgpackr'];
/** Packages of the older kind of modules ask for those of Node.js by this name, which no module of the bundles has. */
const REQUIRE =
  "import { createRequire as requireOf } from 'node:module'; const require = requireOf(import.meta.url);";

const FILES = { recursive: true, withFileTypes: true };

/** For browsers: built by itself, from sources of several kinds. */
const CONSOLE = 'src/console/';
/** The part of it that needs no browser: tests load it as it is. */
const WITHOUT_BROWSER = /^src\/console\/(packets|map)\/[\w-]+\.ts$/;

const isOfConsole = (file) => file.startsWith(CONSOLE);
const isTypeScript = (name) => name.endsWith('.ts');

function sourceFiles() {
  return SOURCES.flatMap((folder) =>
    readdirSync(join(ROOT, folder), { recursive: true, withFileTypes: true })
      .filter((entry) => entry.isFile())
      .map(({ name, parentPath }) => relative(ROOT, join(parentPath, name)))
      .filter((file) => isTypeScript(file) || isOfConsole(file)),
  ).sort();
}

/** The name of the folder that holds a build of these sources. */
function folderOf(files) {
  const digest = createHash('sha256');
  for (const file of [...SETTINGS, ...files]) {
    const content = readFileSync(join(ROOT, file));
    digest.update(`${file}\0${content.length}\0`).update(content);
  }
  return `${PREFIX}${digest.digest('hex').slice(0, 16)}`;
}

function linkedFolder() {
  try {
    return readlinkSync(LINK);
  } catch {
    return undefined;
  }
}

async function compile(files, folder) {
  const { build } = await import('esbuild');
  const unfinished = join(ROOT, `${folder}.${process.pid}`);
  try {
    const forNode = files.filter((file) => !isOfConsole(file) || WITHOUT_BROWSER.test(file));
    const programs = forNode.filter((file) => PROGRAMS.includes(file) || file.startsWith('workers/'));
    const options = {
      absWorkingDir: ROOT,
      outdir: unfinished,
      outbase: ROOT,
      format: 'esm',
      sourcemap: 'linked',
      sourcesContent: false,
      logLevel: 'warning',
    };
    await build({ ...options, entryPoints: forNode.filter((file) => !programs.includes(file)) });
    const bundleOptions = {
      ...options,
      bundle: true,
      splitting: true,
      platform: 'node',
      target: 'es2022',
      external: packages().filter((name) => !INLINED.includes(name)),
      banner: { js: REQUIRE },
    };
    // Each by itself: parts that they shared would be many small files again. What it loads later lies beside it.
    const bundle = (program) =>
      build({
        ...bundleOptions,
        entryPoints: [program],
        chunkNames: `${dirname(program)}/[name]-[hash]`,
        plugins: [placesInModules(program)],
      });
    await Promise.all([...programs.map(bundle), buildConsole(join(unfinished, 'console'))]);
    renameSync(unfinished, join(ROOT, folder));
  } catch (error) {
    rmSync(unfinished, { recursive: true, force: true });
    // Another build of the same sources was quicker: its folder serves as well.
    if (error.code !== 'ENOTEMPTY' && error.code !== 'EEXIST') throw error;
  }
}

function packages() {
  const { dependencies, devDependencies } = JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8'));
  return Object.keys({ ...dependencies, ...devDependencies });
}

const PLACE = 'import.meta.url';
/** The bundles hold the parts of zod that are used: by its name `z` all of it is imported, texts in 50 languages too. */
const WHOLE_ZOD = "import { z } from 'zod'";
const USED_ZOD = "import * as z from 'zod'";

/** A module that asks where it is gets the place of its own compiled file, although it is part of the program. */
function placesInModules(program) {
  const toRoot = '../'.repeat(program.split('/').length - 1);
  return {
    name: 'places',
    setup(build) {
      build.onLoad({ filter: /\/(?:src|test)\/.*\.ts$/ }, async ({ path }) => {
        const contents = await readFile(path, 'utf8');
        const file = relative(ROOT, path).replace(/\.ts$/, '.js');
        const place = `new URL('${toRoot}${file}', ${PLACE}).href`;
        return {
          contents: contents.replaceAll(PLACE, place).replace(WHOLE_ZOD, USED_ZOD),
          loader: 'ts',
        };
      });
    },
  };
}

/** Makes `dist` lead to the folder, at once and whole. */
function link(folder) {
  const temporary = `${LINK}.${process.pid}`;
  symlinkSync(folder, temporary);
  if (linkedFolder() === undefined) rmSync(LINK, { recursive: true, force: true });
  renameSync(temporary, LINK);
}

/** Removes all but the newest builds. */
function removeOld(folder) {
  const builds = readdirSync(ROOT)
    .filter((name) => name.startsWith(PREFIX) && name !== folder)
    .map((name) => ({ name, made: statSync(join(ROOT, name)).mtimeMs }))
    .sort((a, b) => b.made - a.made);
  for (const { name } of builds.slice(KEPT - 1)) rmSync(join(ROOT, name), { recursive: true, force: true });
}

/** Makes `dist` a folder with the same files. Programs that run from the build are not touched. */
function pack(folder) {
  const temporary = `${LINK}.${process.pid}`;
  for (const { name, parentPath } of readdirSync(join(ROOT, folder), FILES).filter((entry) =>
    entry.isFile(),
  )) {
    const place = join(temporary, relative(join(ROOT, folder), parentPath));
    mkdirSync(place, { recursive: true });
    linkSync(join(parentPath, name), join(place, name));
  }
  rmSync(LINK);
  renameSync(temporary, LINK);
  copyFileSync(LOCK, PACKED_LOCK);
}

const files = sourceFiles();
const folder = folderOf(files);
rmSync(PACKED_LOCK, { force: true });
if (linkedFolder() !== folder || !existsSync(LINK)) {
  if (!existsSync(join(ROOT, folder))) await compile(files, folder);
  link(folder);
  removeOld(folder);
}
if (process.argv.includes('--packed')) pack(folder);
