/** Reads the members of an archive, or says why it is refused. */
import { closeSync, openSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { Refusal } from '../../src/base/errors/errors.js';
import { archiveRange } from '../../src/snapshots/archives/zip-bounds.js';
import { readMember } from '../../src/snapshots/archives/zip-content.js';
import {
  openZip,
  USUAL_RATIO,
  type ZipArchive,
  type ZipLimits,
} from '../../src/snapshots/archives/zip-directory.js';
import { scratchFolder, type Teardown } from './scratch.js';

export const LIMITS: ZipLimits = { members: 1000, bytes: 1024 * 1024 * 1024, ratio: USUAL_RATIO };

export type ReadArchive = (archive: Uint8Array, limits?: Partial<ZipLimits>) => Promise<ZipContent>;

export interface ZipContent {
  readonly archive: ZipArchive;
  readonly content: Readonly<Record<string, Buffer>>;
}

/** Reads archives that are in memory, one after the other, through a file as the server does. */
export function archiveReader(t: Teardown): ReadArchive {
  const path = join(scratchFolder(t), 'archive');
  return (archive, limits) => {
    writeFileSync(path, archive);
    return readArchiveFile(path, archive.length, limits);
  };
}

export async function readArchiveFile(
  path: string,
  size: number,
  limits?: Partial<ZipLimits>,
): Promise<ZipContent> {
  const fd = openSync(path, 'r');
  try {
    const archive = await openZip(fd, archiveRange(fd, size), { ...LIMITS, ...limits });
    const content: Record<string, Buffer> = {};
    for (const member of archive.members) {
      const pieces: Buffer[] = [];
      await readMember(fd, member, (bytes) => {
        if (bytes.length > 1024 * 1024) throw new RangeError(`a piece has ${bytes.length} bytes`);
        pieces.push(Buffer.from(bytes));
      });
      content[member.path] = Buffer.concat(pieces);
    }
    return { archive, content };
  } finally {
    closeSync(fd);
  }
}

/** Anything but a refusal is thrown on. */
export async function refusalOf(reading: Promise<unknown>): Promise<string | undefined> {
  try {
    await reading;
    return undefined;
  } catch (error) {
    if (error instanceof Refusal && error.status === 409) return error.message;
    throw error;
  }
}
