/** A snapshot that GNS3 made, read where it lies. By threads of the job worker. */
import { dirname } from 'node:path';
import type { JobProgress } from '../content/job-progress.js';
import { archiveFault, isRefusal, Refusal, refusals } from '../../base/errors/errors.js';
import { roomFor } from '../../base/disk/disk-floor.js';
import type { ZipLimits } from '../archives/zip-directory.js';
import type { LabContent } from '../lab-content.js';
import { isLeftOut } from '../left-out.js';
import { checkMembers, unpack, withArchive } from './project-archive.js';

const MOST_MEMBERS = 500_000;
/** Disks that were never written to compress to a thousandth; nothing honest does to less. */
const MOST_RATIO = 1100;

/** Makes the target folder of what it has of files, captures and snapshots excepted. */
export async function unpackSnapshot(
  path: string,
  target: string,
  progress: JobProgress,
  wantsOf: ((content: LabContent) => (path: string) => boolean) | undefined,
): Promise<LabContent> {
  return told(() =>
    withArchive(path, limitsFor(dirname(path)), async (fd, archive) => {
      const wants = wantsOf?.(archive.content) ?? (() => true);
      const isWanted = (member: string): boolean => !isBelowLeftOut(member) && wants(member);
      await unpack(fd, archive, target, (member) => (isWanted(member) ? member : undefined), progress);
      return archive.content;
    }),
  );
}

/** What is wrong with it, if anything is. */
export async function checkSnapshot(path: string, progress: JobProgress): Promise<string | undefined> {
  try {
    await withArchive(path, limitsFor(dirname(path)), (fd, archive) => checkMembers(fd, archive, progress));
    return undefined;
  } catch (error) {
    if (!(error instanceof Refusal) || isRefusal(error, 'job_cancelled')) throw error;
    return error.message;
  }
}

/** No more than there is room for. */
export function limitsFor(folder: string): ZipLimits {
  return { members: MOST_MEMBERS, bytes: roomFor(folder), ratio: MOST_RATIO };
}

export function isBelowLeftOut(path: string): boolean {
  const parts = path.split('/');
  return parts.some((_, index) => isLeftOut(parts.slice(0, index + 1).join('/')));
}

/** What is wrong with an archive is wrong with the snapshot here. */
async function told<Result>(work: () => Promise<Result>): Promise<Result> {
  try {
    return await work();
  } catch (error) {
    const fault = archiveFault(error);
    throw fault === undefined ? error : refusals.snapshotDamaged(fault);
  }
}
