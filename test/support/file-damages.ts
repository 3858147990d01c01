/** Damages files as a disk, a person or another program would; the same way with the same random numbers. */
import { spawnSync } from 'node:child_process';
import { mkdirSync, readFileSync, rmSync, symlinkSync, truncateSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Random } from './random.js';

type Damage = (path: string, random: Random) => void;

/** Replaces the folder, file or link that was there. */
function instead(make: Damage): Damage {
  return (path, random) => {
    rmSync(path, { recursive: true, force: true });
    make(path, random);
  };
}

function rewritten(change: (bytes: Buffer, random: Random) => void): Damage {
  return (path, random) => {
    const bytes = readFileSync(path);
    change(bytes, random);
    writeFileSync(path, bytes);
  };
}

export const FILE_DAMAGES: Readonly<Record<string, Damage>> = {
  'cut to nothing': (path) => {
    truncateSync(path, 0);
  },
  'cut to half': (path) => {
    truncateSync(path, readFileSync(path).length >> 1);
  },
  'zeros in the middle': rewritten((bytes) => bytes.fill(0, bytes.length >> 2, (bytes.length * 3) >> 2)),
  'random octets': rewritten((bytes, random) => {
    for (let at = 0; at < bytes.length; at++) bytes[at] = random.below(256);
  }),
  'one octet flipped': rewritten((bytes, random) => {
    const at = random.below(bytes.length);
    bytes.fill((bytes[at] ?? 0) ^ (1 << random.below(8)), at, at + 1);
  }),
  'a folder': instead((path) => {
    mkdirSync(path);
    writeFileSync(join(path, 'file'), 'content');
  }),
  'a link out': instead((path) => {
    symlinkSync('/etc/hostname', path);
  }),
  'a FIFO': instead((path) => {
    const { status, stderr } = spawnSync('mkfifo', [path]);
    if (status !== 0) throw new Error(`mkfifo: ${String(stderr)}`);
  }),
};
