/** Copies of files that share no blocks, with the holes of the original. Runs in a worker thread. */
import { closeSync, ftruncateSync, openSync, readSync } from 'node:fs';
import { checkGrowth } from '../../base/disk/disk-floor.js';
import { dataRanges } from '../../base/disk/linux-files.js';
import { writeWhole } from '../../base/disk/published-file.js';
import { openRegularFile } from '../../base/disk/regular-file.js';

const PIECE = 1024 * 1024;
const FOR_THE_SERVER = 0o600;

/** Makes a new file with the same content. Refuses (507) when the disk has no room for it. */
export function copyFile(from: string, to: string, folder: string): void {
  const { fd: source, size } = openRegularFile(from);
  try {
    const target = openSync(to, 'wx', FOR_THE_SERVER);
    try {
      for (const { start, end } of dataRanges(source, size)) {
        checkGrowth(folder, end - start);
        copyRange(source, target, start, end);
      }
      ftruncateSync(target, size);
    } finally {
      closeSync(target);
    }
  } finally {
    closeSync(source);
  }
}

function copyRange(source: number, target: number, start: number, end: number): void {
  const piece = Buffer.allocUnsafe(Math.min(PIECE, end - start));
  for (let at = start; at < end;) {
    const count = readSync(source, piece, 0, Math.min(piece.length, end - at), at);
    if (count === 0) return;
    writeWhole(target, piece.subarray(0, count), at);
    at += count;
  }
}
