/**
 * One archive for whoever is asked for help: texts that are given, and the ends of logs and of the history. It is bounded, and
 * has no secrets. Runs in a worker thread.
 */
import { execFileSync } from 'node:child_process';
import {
  closeSync,
  constants,
  fstatSync,
  openSync,
  readdirSync,
  readSync,
  renameSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { gzipSync } from 'node:zlib';
import { messageOf, systemCode } from '../../base/errors/errors.js';
import { TAR_END, tarHeader, tarPadding } from '../../base/disk/tar.js';
import { redacted } from './redaction.js';

/** A part of the bundle, or a note why it is not there. */
export type BundlePart = readonly [name: string, content: string | { readonly note: string }];

export interface BundleOrder {
  /** The path of the archive. One that is there is replaced. */
  readonly target: string;
  readonly parts: readonly BundlePart[];
  /** The log of the server; undefined for what systemd has kept of it. */
  readonly log: string | undefined;
  readonly accessLog: string | undefined;
  readonly history: string;
  /** Secrets of the settings. */
  readonly secrets: readonly string[];
}

const MEBI = 1024 * 1024;
const MOST_OF_LOG = 4 * MEBI;
const MOST_OF_REQUESTS = 2 * MEBI;
const MOST_OF_HISTORY = 4 * MEBI;
const MOST_LINES = 5000;
const PROGRAM_LIMIT_MS = 10_000;
const REGULAR = constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK;

/** Writes the archive, whole or not at all and for this user only. Returns the notes. */
export function packBundle(order: BundleOrder): string[] {
  const { target, log, accessLog, history, secrets } = order;
  const parts: readonly BundlePart[] = [
    ...order.parts,
    ['server.log', log === undefined ? journal() : endOf(log, MOST_OF_LOG)],
    ['requests.log', accessLog === undefined ? NO_ACCESS_LOG : endOf(accessLog, MOST_OF_REQUESTS)],
    ...historyParts(history),
  ];
  const modifiedMs = Date.now();
  const pieces = parts.flatMap(([name, content]) => {
    const text = typeof content === 'string' ? content : `not here: ${content.note}\n`;
    const bytes = Buffer.from(redacted(text, secrets));
    const path = typeof content === 'string' ? name : `${name}.missing`;
    const header = tarHeader({ path: `wirefarm-doctor/${path}`, size: bytes.length, modifiedMs });
    return [header, bytes, Buffer.alloc(tarPadding(bytes.length))];
  });
  write(target, gzipSync(Buffer.concat([...pieces, Buffer.alloc(TAR_END)])));
  return parts.flatMap(([name, content]) =>
    typeof content === 'string' ? [] : [`${name}: ${content.note}`],
  );
}

const NO_ACCESS_LOG = { note: 'there is no --access-log: the log has the requests' };

/** The end of what systemd has kept of the server's log. */
function journal(): BundlePart[1] {
  const args = ['--unit', 'wirefarm', '--lines', String(MOST_LINES), '--output', 'cat', '--no-pager'];
  try {
    const options = { timeout: PROGRAM_LIMIT_MS, maxBuffer: 4 * MOST_OF_LOG, stdio: 'pipe' } as const;
    const text = execFileSync('journalctl', args, { ...options, encoding: 'utf8' });
    if (text !== '') return text.slice(-MOST_OF_LOG);
    return { note: 'the journal of systemd has none: --log FILE says where it is' };
  } catch (error) {
    const [reason = ''] = messageOf(error).split('\n', 1);
    return { note: `journalctl cannot be asked (${reason}): --log FILE says where it is` };
  }
}

/** The history of the server, and those of projects, the newest first. */
function historyParts(folder: string): BundlePart[] {
  const files = names(folder)
    .flatMap((name) => {
      const { size, mtimeMs } = statSync(join(folder, name), { throwIfNoEntry: false }) ?? {};
      return size === undefined || mtimeMs === undefined ? [] : [{ name, size, mtimeMs }];
    })
    .sort((a, b) => Number(isOfServer(b.name)) - Number(isOfServer(a.name)) || b.mtimeMs - a.mtimeMs);
  let left = MOST_OF_HISTORY;
  const kept = files.filter(({ size }) => (left -= size) >= 0);
  const parts = kept.map(({ name, size }): BundlePart => [
    `history/${name}`,
    endOf(join(folder, name), size),
  ]);
  const more = files.length - kept.length;
  return more === 0 ? parts : [...parts, ['history', { note: `${more} more files would be too much` }]];
}

const isOfServer = (name: string): boolean => name.startsWith('server.');

function names(folder: string): string[] {
  try {
    return readdirSync(folder).filter((name) => name.endsWith('.jsonl'));
  } catch {
    return [];
  }
}

/** The last octets of a file, from the beginning of a line on. */
function endOf(path: string, most: number): BundlePart[1] {
  let fd: number | undefined;
  try {
    fd = openSync(path, REGULAR);
    const stat = fstatSync(fd);
    if (!stat.isFile()) return { note: `${path} is no file` };
    const bytes = Buffer.alloc(Math.min(most, stat.size));
    const count = readSync(fd, bytes, 0, bytes.length, stat.size - bytes.length);
    const text = bytes.subarray(0, count).toString();
    return count < stat.size ? text.slice(text.indexOf('\n') + 1) : text;
  } catch (error) {
    return { note: messageOf(error) };
  } finally {
    if (fd !== undefined) closeSync(fd);
  }
}

function write(target: string, bytes: Uint8Array): void {
  const temporary = `${target}.part`;
  try {
    writeFileSync(temporary, bytes, { flag: 'wx', mode: 0o600, flush: true });
    renameSync(temporary, target);
  } catch (error) {
    // Another process may be writing it.
    if (systemCode(error) !== 'EEXIST') rmSync(temporary, { force: true });
    throw error;
  }
}
