/** Checks of the folders of a server and of their disks. Runs in a worker thread. */
import { randomUUID } from 'node:crypto';
import {
  accessSync,
  closeSync,
  constants,
  existsSync,
  fdatasyncSync,
  openSync,
  opendirSync,
  readdirSync,
  readlinkSync,
  readSync,
  realpathSync,
  rmSync,
  statfsSync,
  statSync,
  writeSync,
} from 'node:fs';
import { join } from 'node:path';
import { messageOf } from '../../base/errors/errors.js';
import { cloneFile } from '../../base/disk/linux-files.js';
import { decodeHead, HEAD_LENGTH, HEAD_PLACES } from '../../base/store/journal-format.js';
import { checkData } from './data-checks.js';
import type { Diagnosis } from './diagnosis.js';
import { textOf } from './kernel-checks.js';
import type { Patient } from './patient.js';

const SYNCS = 64;
const SYNC_BYTES = 4096;
/** A disk that is slow is not tried for longer. */
const LONGEST_TRIAL_MS = 2000;
const SLOW_SYNC_MS = 20;
/** The names of files that an examination makes for a moment. */
const TRIAL = '.doctor-';
/** Examinations end long before. */
const LEFT_BEHIND_MS = 10 * 60 * 1000;
const GIBI = 1024 ** 3;
/** The share of a disk that is to be free, and the room without which uploads are refused. */
const LEAST_SHARE = 0.1;
const REFUSED_BELOW = GIBI;
const REFUSED_SHARE = 0.05;
const FEWEST_FILES = 1000;
const FEWEST_FILES_SHARE = 0.05;
const MOST_ENTRIES = 20_000;
const OTHERS = 0o077;
const MEBI = 1024 ** 2;

export function checkFolders(patient: Patient): Diagnosis[] {
  const { parts } = patient;
  const all = Object.entries(parts).filter(([, folder]) => existsSync(folder));
  const rights = all.flatMap(([part, folder]) => checkRights(part, folder));
  const disks = new Set<number>();
  const checks = [...rights, checkHolder(parts.state), checkStore(parts.state), ...checkData(patient)];
  if (all.length === 0)
    checks.push({
      id: 'folders',
      level: 'note',
      found: `there is no folder ${parts.data} yet: a server makes it`,
    });
  for (const [part, folder] of all) {
    const { dev } = statSync(folder);
    // Parts on one disk are one disk.
    if (disks.has(dev)) continue;
    disks.add(dev);
    checks.push(checkRoom(part, folder), checkFiles(part, folder), ...tryDisk(part, folder));
  }
  return checks;
}

/** The rights of this user on a part, and on the entries in it, as many as can be looked at. */
function checkRights(part: string, folder: string): Diagnosis[] {
  const id = `rights.${part}`;
  const { uid, mode } = statSync(folder);
  const user = process.geteuid?.() ?? uid;
  const own = `chown -R ${user} ${folder}`;
  try {
    accessSync(folder, constants.R_OK | constants.W_OK | constants.X_OK);
  } catch (error) {
    const means = 'the server does not start';
    return [
      { id, level: 'failure', found: `${folder} cannot be used: ${messageOf(error)}`, means, repair: own },
    ];
  }
  if (part === 'state' && uid !== user) {
    const found = `${folder} belongs to the user ${uid}, and this is the user ${user}`;
    return [{ id, level: 'warning', found, means: 'wirefarm user refuses to change it', repair: own }];
  }
  if (part === 'state' && (mode & OTHERS) !== 0) {
    const found = `other users of this host can reach ${folder}`;
    const means = 'it holds digests of passwords; a start of the server closes it';
    return [{ id, level: 'warning', found, means, repair: `chmod 700 ${folder}` }];
  }
  // The other parts are in this one.
  if (part === 'data') return [{ id, level: 'ok', found: `${folder} can be read and written` }];
  const { count, first } = closedEntries(folder);
  if (first === undefined) return [{ id, level: 'ok', found: `${folder} can be read and written` }];
  const found = `${count} entries of ${folder} cannot be read by this user, such as ${first}`;
  return [
    { id, level: 'failure', found, means: 'labs with these files do not open or do not start', repair: own },
  ];
}

function closedEntries(folder: string): { readonly count: number; readonly first: string | undefined } {
  let left = MOST_ENTRIES;
  let count = 0;
  let first: string | undefined;
  const waiting = [folder];
  for (let next = waiting.pop(); next !== undefined && left > 0; next = waiting.pop()) {
    const opened = opendirSync(next);
    for (let entry = opened.readSync(); entry !== null && left-- > 0; entry = opened.readSync()) {
      const path = join(next, entry.name);
      if (!entry.isDirectory() && !entry.isFile()) continue;
      if (isOpenTo(path, entry.isDirectory())) {
        if (entry.isDirectory()) waiting.push(path);
        continue;
      }
      count++;
      first ??= path;
    }
    opened.closeSync();
  }
  return { count, first };
}

function isOpenTo(path: string, isFolder: boolean): boolean {
  try {
    accessSync(path, isFolder ? constants.R_OK | constants.X_OK : constants.R_OK);
    return true;
  } catch {
    // It may have gone meanwhile.
    return !existsSync(path);
  }
}

/** The process that holds the folder, as a server does for its life. */
function checkHolder(state: string): Diagnosis {
  const id = 'state.holder';
  if (!existsSync(state)) return { id, level: 'ok', found: 'no server has run here yet' };
  const inode = String(statSync(state).ino);
  const holders = (textOf('/proc/locks') ?? '').split('\n').flatMap((line) => {
    const [, pid, place] = /FLOCK\s+ADVISORY\s+WRITE\s+(\d+)\s+(\S+)/.exec(line) ?? [];
    return place?.endsWith(`:${inode}`) === true ? [Number(pid)] : [];
  });
  const holder = holders.find((pid) => hasOpen(pid, realpathSync(state)));
  return holder === undefined
    ? { id, level: 'ok', found: 'no server runs with this data' }
    : { id, level: 'ok', found: `the server with this data is the process ${holder}` };
}

function hasOpen(pid: number, path: string): boolean {
  try {
    const folder = `/proc/${pid}/fd`;
    return readdirSync(folder).some((fd) => readlinkSync(join(folder, fd)) === path);
  } catch {
    // The process has gone, or is not ours to look at.
    return false;
  }
}

/** The heads of the journal, which say its format. The journal itself is read by a start of the server. */
function checkStore(state: string): Diagnosis {
  const id = 'state.format';
  const journal = join(state, 'journal');
  if (!existsSync(journal)) {
    const isOld = existsSync(join(state, 'data.mdb'));
    return isOld
      ? {
          id,
          level: 'note',
          found: 'the store is of an earlier version',
          means: 'the next start takes it over, and keeps it',
        }
      : { id, level: 'ok', found: 'there is no store yet' };
  }
  try {
    const heads = readHeads(journal);
    if (heads.some((head) => decodeHead(head) !== undefined))
      return { id, level: 'ok', found: 'this version reads the store' };
  } catch (error) {
    return {
      id,
      level: 'failure',
      found: messageOf(error),
      means: 'this version does not start on it, and changes nothing in it',
      repair: 'start the version of Wirefarm that wrote it',
    };
  }
  return {
    id,
    level: 'failure',
    found: `the heads of ${journal} are damaged`,
    means: 'the next start puts it aside and keeps what is whole of it',
    repair: `cp -a ${state} ${state}.copy, and then start the server`,
  };
}

function readHeads(journal: string): Buffer[] {
  const file = openSync(journal, constants.O_RDONLY | constants.O_NOFOLLOW);
  try {
    return HEAD_PLACES.map((place) => {
      const head = Buffer.alloc(HEAD_LENGTH);
      readSync(file, head, 0, HEAD_LENGTH, place);
      return head;
    });
  } finally {
    closeSync(file);
  }
}

function checkRoom(part: string, folder: string): Diagnosis {
  const id = `disk.${part}.free`;
  const { blocks, bavail, bsize } = statfsSync(folder);
  const size = blocks * bsize;
  const free = bavail * bsize;
  const found = `${Math.round(free / MEBI)} MiB of ${Math.round(size / MEBI)} MiB are free on the disk of ${folder}`;
  // A file system without blocks does not tell its free space.
  if (size === 0 || free >= size * LEAST_SHARE) return { id, level: 'ok', found };
  const isRefused = free < Math.min(REFUSED_BELOW, size * REFUSED_SHARE);
  return {
    id,
    level: isRefused ? 'failure' : 'warning',
    found,
    means: isRefused ? 'uploads, imports and snapshots are refused' : 'it may soon be full',
    repair: `du -xh --max-depth=2 ${folder} | sort -h | tail (and delete what is not needed)`,
  };
}

function checkFiles(part: string, folder: string): Diagnosis {
  const id = `disk.${part}.inodes`;
  const { files, ffree } = statfsSync(folder);
  const found =
    files === 0
      ? 'the number of files is not bounded'
      : `the disk of ${folder} has room for ${ffree} more files`;
  if (files === 0 || ffree >= Math.max(FEWEST_FILES, files * FEWEST_FILES_SHARE))
    return { id, level: 'ok', found };
  return {
    id,
    level: ffree < FEWEST_FILES ? 'failure' : 'warning',
    found,
    means: 'changes of labs fail when it has none, however much room is free',
    repair: `du -x --inodes --max-depth=2 ${folder} | sort -n | tail (and delete what is not needed)`,
  };
}

/** Writes and syncs a small file many times, as commits do, and tries whether a copy shares its blocks. */
function tryDisk(part: string, folder: string): Diagnosis[] {
  const path = join(folder, `${TRIAL}${randomUUID()}`);
  const copy = `${path}-copy`;
  try {
    clearTrials(folder);
    const times = syncTimes(path);
    return [syncDiagnosis(part, folder, times), shareDiagnosis(part, folder, cloneFile(path, copy))];
  } catch (error) {
    const found = `${folder} cannot be written: ${messageOf(error)}`;
    const means = 'every change of a lab fails';
    return [{ id: `disk.${part}.sync`, level: 'failure', found, means, repair: `mount | grep -F ${folder}` }];
  } finally {
    rmSync(path, { force: true });
    rmSync(copy, { force: true });
  }
}

/** Removes the files of examinations that were killed. */
function clearTrials(folder: string): void {
  for (const name of readdirSync(folder).filter((entry) => entry.startsWith(TRIAL))) {
    const path = join(folder, name);
    const { mtimeMs = Infinity } = statSync(path, { throwIfNoEntry: false }) ?? {};
    if (Date.now() - mtimeMs > LEFT_BEHIND_MS) rmSync(path, { force: true });
  }
}

/** In milliseconds, sorted. */
function syncTimes(path: string): number[] {
  const bytes = Buffer.alloc(SYNC_BYTES, 1);
  const times: number[] = [];
  const file = openSync(path, 'wx', 0o600);
  try {
    const begun = performance.now();
    for (let count = 0; count < SYNCS; count++) {
      const from = performance.now();
      writeSync(file, bytes, 0, SYNC_BYTES, count * SYNC_BYTES);
      fdatasyncSync(file);
      times.push(performance.now() - from);
      if (performance.now() - begun > LONGEST_TRIAL_MS) break;
    }
  } finally {
    closeSync(file);
  }
  return times.sort((a, b) => a - b);
}

function syncDiagnosis(part: string, folder: string, times: readonly number[]): Diagnosis {
  const id = `disk.${part}.sync`;
  const median = times[times.length >> 1] ?? 0;
  const found = `a sync on the disk of ${folder} takes ${median.toFixed(1)} ms, ${(times.at(-1) ?? 0).toFixed(1)} ms at most`;
  if (median <= SLOW_SYNC_MS) return { id, level: 'ok', found };
  return {
    id,
    level: 'warning',
    found,
    means: 'each change of a lab is answered when it is on the disk, so clients wait so long',
    repair: 'move the state folder to a faster disk (wirefarm serve --state DIR)',
  };
}

function shareDiagnosis(part: string, folder: string, isShared: boolean): Diagnosis {
  const id = `disk.${part}.sharing`;
  if (isShared) return { id, level: 'ok', found: `copies share their blocks on the disk of ${folder}` };
  return {
    id,
    level: 'note',
    found: `copies do not share their blocks on the disk of ${folder}`,
    means:
      'snapshots and copies of labs take as long, and as much room, as their files: XFS and btrfs share blocks',
  };
}
