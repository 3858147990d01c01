/** Whole archives, made piece by piece, and what other programs read in them. */
import { execFileSync } from 'node:child_process';
import { closeSync, openSync, writeFileSync, writeSync } from 'node:fs';
import { firstCursor, nextPiece } from '../../src/snapshots/archives/zip-pieces.js';
import { joinedCrc32 } from '../../src/snapshots/archives/joined-crc.js';
import { packPart, type PackedPart } from '../../src/snapshots/archives/member-parts.js';
import {
  afterBody,
  type MemberBody,
  type ZipCursor,
  type ZipPiece,
} from '../../src/snapshots/archives/zip-cursor.js';
import type { MemberSums } from '../../src/snapshots/archives/zip-format.js';
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

const PART_LENGTH = 512 * 1024;

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
  let position = 0;
  const write = (bytes: Uint8Array): void => {
    if (!isZeros(bytes)) writeSync(fd, bytes, 0, bytes.length, position);
    position += bytes.length;
    pieces.push(bytes.length);
  };
  try {
    for (let cursor: ZipCursor | undefined = firstCursor(plan, ROOTS, compression); cursor !== undefined;) {
      const piece: ZipPiece = await makePiece(cursor);
      write(piece.bytes);
      warnings.push(...piece.warnings);
      cursor = piece.body && piece.cursor ? addBody(piece.body, piece.cursor, write) : piece.cursor;
    }
  } finally {
    closeSync(fd);
  }
  return { path, warnings, pieces };
}

/** Its parts are made from back to front, as threads may do. */
function addBody(body: MemberBody, before: ZipCursor, write: (bytes: Uint8Array) => void): ZipCursor {
  const parts: PackedPart[] = [];
  const count = Math.ceil(body.size / PART_LENGTH);
  for (let position = (count - 1) * PART_LENGTH; position >= 0; position -= PART_LENGTH) {
    const length = Math.min(PART_LENGTH, body.size - position);
    const room = new SharedArrayBuffer(2 * PART_LENGTH);
    parts.unshift(packPart({ body, position, length, room }));
  }
  let sums: MemberSums = { crc32: 0, size: 0, compressedSize: 0 };
  for (const { bytes, crc32, size, compressedSize } of parts) {
    write(bytes);
    sums = {
      crc32: joinedCrc32(sums.crc32, crc32, size),
      size: sums.size + size,
      compressedSize: sums.compressedSize + compressedSize,
    };
  }
  return afterBody(before, sums);
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
