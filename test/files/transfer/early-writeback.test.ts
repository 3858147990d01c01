import { closeSync, openSync, readFileSync, rmSync, writeSync } from 'node:fs';
import { join } from 'node:path';
import koffi from 'koffi';
import t from 'tap';
import { EarlyWriteback } from '../../../src/files/transfer/early-writeback.js';
import { RandomBytes } from '../../support/random.js';
import { scratchFolder } from '../../support/scratch.js';

const MEBIBYTE = 1024 * 1024;
const PAGES = (32 * MEBIBYTE) / 4096;
const CACHESTAT = 451;
const DIRTY = 1;

type Cachestat = (call: number, fd: number, range: Uint8Array, found: Uint8Array, flags: number) => number;

/** How many pages of the file nobody has begun to write to the disk; undefined where the system does not tell. */
function dirtyPages(fd: number): number | undefined {
  if (process.platform !== 'linux') return undefined;
  const cachestat = koffi
    .load(null)
    .func('long syscall(long, unsigned int, const uint8_t *, uint8_t *, unsigned int)') as Cachestat;
  const found = new BigUint64Array(5);
  // From the beginning to the end of the file.
  const result = cachestat(CACHESTAT, fd, new Uint8Array(16), new Uint8Array(found.buffer), 0);
  return result === 0 ? Number(found[DIRTY]) : undefined;
}

/** Writes 32 MiB; returns how many pages are left to the sync. */
function writeFile(path: string, note: (fd: number) => (position: number) => void): number | undefined {
  const fd = openSync(path, 'wx+');
  const reached = note(fd);
  const bytes = new RandomBytes(1).next(MEBIBYTE);
  for (let position = 0; position < 32 * MEBIBYTE; position += MEBIBYTE) {
    writeSync(fd, bytes, 0, bytes.length, position);
    reached(position + MEBIBYTE);
  }
  const dirty = dirtyPages(fd);
  closeSync(fd);
  return dirty;
}

/** On a busy machine the system may write a file at once that nobody has asked it to write. */
const MOST_TRIES = 20;

void t.test('a file is on its way to the disk before anybody syncs it', (t) => {
  const folder = scratchFolder(t);
  for (let attempt = 0; attempt < MOST_TRIES; attempt++) {
    const early = join(folder, `early-${attempt}`);
    const late = join(folder, `late-${attempt}`);
    const left = writeFile(early, (fd) => {
      const writeback = new EarlyWriteback(fd, 0);
      return (position) => {
        writeback.reached(position);
      };
    });
    t.ok(readFileSync(early).subarray(-MEBIBYTE).equals(new RandomBytes(1).next(MEBIBYTE)));
    const otherwise = writeFile(late, () => () => undefined);
    for (const path of [early, late]) rmSync(path);
    if (otherwise === undefined) {
      t.pass('# SKIP the system does not tell');
      break;
    }
    if (otherwise < PAGES / 2) continue;
    t.ok((left ?? PAGES) < PAGES / 2, `${left} instead of ${otherwise} pages are left`);
    break;
  }
  t.end();
});

void t.test('a descriptor that takes no such order is no trouble', (t) => {
  const fd = openSync('/dev/null', 'w');
  const writeback = new EarlyWriteback(fd, 5);
  writeback.reached(6);
  writeback.reached(5 + 8 * MEBIBYTE);
  closeSync(fd);
  writeback.reached(100 * MEBIBYTE);
  t.pass('nothing is thrown');
  t.end();
});
