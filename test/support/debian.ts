/**
 * A small Debian with systemd, of the release and from the mirror of this host. It is made once, which takes two minutes,
 * and kept in the cache of the user, outside of the source.
 */
import { execFileSync, spawnSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { existsSync, mkdirSync, renameSync, rmSync } from 'node:fs';
import { homedir } from 'node:os';
import { join } from 'node:path';

const PACKAGES = ['systemd', 'systemd-sysv', 'dbus', 'iproute2', 'kmod', 'procps', 'vpcs'];
const LEFT_OUT = ['/usr/share/doc/*', '/usr/share/locale/*', '/usr/share/man/*'];
const CACHE = join(homedir(), '.cache', 'wirefarm-tests');

/** False when this host can make it, or has made it. */
export function missingDebian(): string | false {
  if (process.geteuid?.() !== 0) return 'a Debian of its own needs the rights of root';
  if (spawnSync('which', ['mmdebstrap']).status === 0) return false;
  return 'the program mmdebstrap is missing: install the package mmdebstrap';
}

/** The path of an archive with all of its files. */
export function debianArchive(): string {
  return cached('debian.tar', [], (file) => {
    const suite = /^VERSION_CODENAME=(\w+)$/m.exec(execFileSync('cat', ['/etc/os-release']).toString())?.[1];
    const options = [
      '--variant=minbase',
      '--quiet',
      '--format=tar',
      `--include=${PACKAGES.join()}`,
      ...LEFT_OUT.map((pattern) => `--dpkgopt=path-exclude=${pattern}`),
    ];
    execFileSync('mmdebstrap', [...options, suite ?? 'bookworm', file], {
      stdio: ['ignore', 'ignore', 'inherit'],
    });
  });
}

/** The path of what `make` makes of the same packages and of `parts`: it is there already, or made now. */
export function cached(name: string, parts: readonly string[], make: (file: string) => void): string {
  const digest = createHash('sha256')
    .update(JSON.stringify([PACKAGES, LEFT_OUT, ...parts]))
    .digest('hex');
  const file = join(CACHE, `${digest.slice(0, 12)}-${name}`);
  if (existsSync(file)) return file;
  mkdirSync(CACHE, { recursive: true, mode: 0o700 });
  const unfinished = `${file}.${process.pid}`;
  try {
    make(unfinished);
    renameSync(unfinished, file);
  } finally {
    rmSync(unfinished, { force: true });
  }
  return file;
}
