/** The content of the planned members of an archive, piece by piece. Runs in worker threads. */
import { closeSync, readSync } from 'node:fs';
import { getSystemErrorMap } from 'node:util';
import { readStored } from '../content/stored-reading.js';
import { readOnlyWhatIsAskedFor } from '../../base/disk/linux-files.js';
import { openRegularFile } from '../../base/disk/regular-file.js';
import { plannedPath, type PlannedMember, type PlanRoots } from './zip-plan.js';

/** What is read of a file by this thread: each reading overwrites the one before. */
let room = Buffer.alloc(0);

/** Undefined for an archive, whose size nobody knows before it is made. */
export function contentSize({ kind, content, size }: PlannedMember): number | undefined {
  if (kind === 'folder' || content === undefined) return 0;
  if ('text' in content) return Buffer.byteLength(content.text);
  return 'archive' in content ? undefined : size;
}

/**
 * So many bytes from this position on; fewer where the content ends before that. They are valid until the next call.
 * Nothing is left open, so the next ones can be read by another thread.
 */
export function readContent(
  { content }: PlannedMember,
  roots: PlanRoots,
  position: number,
  length: number,
): Buffer {
  if (content === undefined || 'archive' in content) return Buffer.alloc(0);
  if ('text' in content) return Buffer.from(content.text).subarray(position, position + length);
  if ('stored' in content)
    return readStored(plannedPath(roots, content.content), content.stored, position, length);
  return readFile(plannedPath(roots, content.file), position, length);
}

/** For people. */
export function unreadableBecause(error: unknown): string {
  const isSystemError = error instanceof Error && 'errno' in error && typeof error.errno === 'number';
  // The message of a system error names a path of this host.
  const [, text] = (isSystemError ? getSystemErrorMap().get(Number(error.errno)) : undefined) ?? [];
  return text ?? (error instanceof Error ? error.message : String(error));
}

function readFile(path: string, position: number, length: number): Buffer {
  const { fd } = openRegularFile(path);
  try {
    readOnlyWhatIsAskedFor(fd);
    if (room.length < length) room = Buffer.allocUnsafeSlow(length);
    let done = 0;
    for (let count = -1; count !== 0 && done < length; done += count) {
      count = readSync(fd, room, done, length - done, position + done);
    }
    return room.subarray(0, done);
  } finally {
    closeSync(fd);
  }
}
