/**
 * Builds the server, its workers, the benches and the tests: `dist` is a link to a folder that is named after the
 * sources it was made of. A build makes a folder of its own, gives it its name when it is whole, and then moves the
 * link, so that nothing changes below a program that runs. When the link names the sources as they are, nothing runs.
 */
import { createHash } from 'node:crypto';
import {
  existsSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  renameSync,
  rmSync,
  statSync,
  symlinkSync,
} from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

const ROOT = fileURLToPath(new URL('..', import.meta.url));
const LINK = join(ROOT, 'dist');
const SOURCES = ['src', 'workers', 'bench', 'test'];
/** What else decides what a build is like. */
const SETTINGS = ['tsconfig.json', 'package-lock.json', 'scripts/build.js'];
const PREFIX = '.dist-';
/** Builds that are kept, because a program may still run from them. */
const KEPT = 4;

const isTypeScript = (name) => name.endsWith('.ts');

function sourceFiles() {
  return SOURCES.flatMap((folder) =>
    readdirSync(join(ROOT, folder), { recursive: true })
      .filter(isTypeScript)
      .map((name) => join(folder, name)),
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
    await build({
      absWorkingDir: ROOT,
      entryPoints: files,
      outdir: unfinished,
      outbase: ROOT,
      format: 'esm',
      sourcemap: 'linked',
      sourcesContent: false,
      logLevel: 'warning',
    });
    renameSync(unfinished, join(ROOT, folder));
  } catch (error) {
    rmSync(unfinished, { recursive: true, force: true });
    // Another build of the same sources was quicker: its folder serves as well.
    if (error.code !== 'ENOTEMPTY' && error.code !== 'EEXIST') throw error;
  }
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

const files = sourceFiles();
const folder = folderOf(files);
if (linkedFolder() !== folder || !existsSync(LINK)) {
  await compile(files, folder);
  link(folder);
  removeOld(folder);
}
