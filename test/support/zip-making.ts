/** Whole archives, made piece by piece, and what other programs read in them. */
import { execFileSync } from 'node:child_process';
import { closeSync, openSync, writeFileSync, writeSync } from 'node:fs';
import {
  firstCursor,
  nextPiece,
  type ZipCursor,
  type ZipPiece,
} from '../../src/snapshots/archives/zip-pieces.js';
import type { Compression } from '../../src/snapshots/archives/zip-member.js';
import {
  writePlan,
  type PlannedMember,
  type PlannedPath,
  type PlanRoots,
} from '../../src/snapshots/archives/zip-plan.js';

export interface MadeArchive {
  readonly path: string;
  readonly warnings: readonly string[];
  /** The lengths of the pieces. */
  readonly pieces: readonly number[];
}

/** As a program of its own sees a member. */
export interface SeenMember {
  readonly name: string;
  readonly size: number;
  readonly compressedSize: number;
  readonly method: number;
  readonly flags: number;
  /** The upper half of the external attributes, octal. */
  readonly mode: string;
  /** Year, month, day, hour, minute, second. */
  readonly time: readonly number[];
  /** The digest of the content. */
  readonly sha256: string;
}

/** Tests plan what lies anywhere. */
export const ROOTS: PlanRoots = { disk: '/' };

export function onDisk(path: string): PlannedPath {
  return { root: 'disk', path };
}

type MakePiece = (cursor: ZipCursor) => ZipPiece | Promise<ZipPiece>;

export function planOf(folder: string, members: Iterable<PlannedMember>): string {
  const path = `${folder}/plan`;
  writePlan(path, members);
  return path;
}

export function textMember(path: string, text: string): PlannedMember {
  return { path, kind: 'file', mode: 0o644, modifiedMs: 0, content: { text }, size: 0 };
}

export function fileMember(path: string, file: string, size: number, mode = 0o644): PlannedMember {
  return {
    path,
    kind: 'file',
    mode,
    modifiedMs: Date.UTC(2024, 1, 29, 23, 59, 57),
    content: { file: onDisk(file) },
    size,
  };
}

/** The archive lies beside the plan; zeros of it are left out of the disk. */
export async function makeArchive(
  plan: string,
  compression: Compression,
  makePiece: MakePiece = nextPiece,
): Promise<MadeArchive> {
  const path = `${plan}.${compression}.zip`;
  const warnings: string[] = [];
  const pieces: number[] = [];
  writeFileSync(path, '');
  const fd = openSync(path, 'r+');
  try {
    let position = 0;
    for (let cursor: ZipCursor | undefined = firstCursor(plan, ROOTS, compression); cursor !== undefined;) {
      const piece: ZipPiece = await makePiece(cursor);
      if (!isZeros(piece.bytes)) writeSync(fd, piece.bytes, 0, piece.bytes.length, position);
      position += piece.bytes.length;
      pieces.push(piece.bytes.length);
      warnings.push(...piece.warnings);
      cursor = piece.cursor;
    }
  } finally {
    closeSync(fd);
  }
  return { path, warnings, pieces };
}

function isZeros(bytes: Uint8Array): boolean {
  return bytes[0] === 0 && Buffer.compare(bytes, new Uint8Array(bytes.length)) === 0;
}

/** Names the package of what is missing; false when nothing is. */
export function lackOf(program: 'python3' | 'unzip'): string | false {
  try {
    execFileSync(program, program === 'unzip' ? ['-v'] : ['-c', 'import zipfile, bz2, lzma'], {
      stdio: 'ignore',
    });
    return false;
  } catch {
    return `the program ${program} is missing: install the package ${program}`;
  }
}

const READ_ALL = `
import hashlib, json, sys, zipfile
seen = []
with zipfile.ZipFile(sys.argv[1]) as archive:
    for info in archive.infolist():
        digest = hashlib.sha256()
        with archive.open(info) as content:
            while block := content.read(1 << 20):
                digest.update(block)
        seen.append({'name': info.filename, 'size': info.file_size, 'compressedSize': info.compress_size,
            'method': info.compress_type, 'flags': info.flag_bits, 'mode': oct(info.external_attr >> 16)[2:],
            'time': info.date_time, 'sha256': digest.hexdigest()})
json.dump(seen, sys.stdout)
`;

/** With Python's zipfile, which checks every content, too. */
export function seenByPython(path: string): SeenMember[] {
  return JSON.parse(pythonSays(READ_ALL, path)) as SeenMember[];
}

export function pythonSays(program: string, path: string): string {
  return execFileSync('python3', ['-c', program, path], { encoding: 'utf8', maxBuffer: 1 << 28 });
}

/** Throws with what it says when it finds the archive damaged. */
export function testWithUnzip(path: string): void {
  execFileSync('unzip', ['-tqq', path], { stdio: 'pipe', maxBuffer: 1 << 26 });
}
