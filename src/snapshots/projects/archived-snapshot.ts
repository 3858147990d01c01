/** Reads the archive of a snapshot that GNS3 made. Runs in job threads. */
import { dirname } from 'node:path';
import type { JobProgress } from '../content/job-progress.js';
import { archiveFault, isRefusal, Refusal, refusals } from '../../base/errors/errors.js';
import { roomFor } from '../../base/disk/disk-floor.js';
import { withPictures } from '../../lab/gns3-file/drawing-pictures.js';
import { USUAL_RATIO, type ZipLimits } from '../archives/zip-directory.js';
import type { LabContent } from '../lab-content.js';
import { isLeftOut } from '../left-out.js';
import { checkMembers, unpack, withArchive } from './project-archive.js';

const MOST_MEMBERS = 500_000;

/** Unpacks the wanted files into a new folder, without captures and snapshots. Drawings get their pictures from there. */
export async function unpackSnapshot(
  path: string,
  target: string,
  progress: JobProgress,
  wantsOf: ((content: LabContent) => (path: string) => boolean) | undefined,
): Promise<LabContent> {
  return asSnapshotDamage(() =>
    withArchive(path, limitsFor(dirname(path)), async (fd, archive) => {
      const wants = wantsOf?.(archive.content) ?? (() => true);
      const isWanted = (member: string): boolean => !isBelowLeftOut(member) && wants(member);
      await unpack(fd, archive, target, (member) => (isWanted(member) ? member : undefined), progress);
      const { content } = archive;
      return { ...content, drawings: withPictures(target, content.drawings) };
    }),
  );
}

/** Reads all of it; returns the reason if it is damaged. */
export async function checkSnapshot(path: string, progress: JobProgress): Promise<string | undefined> {
  try {
    await withArchive(path, limitsFor(dirname(path)), (fd, archive) => checkMembers(fd, archive, progress));
    return undefined;
  } catch (error) {
    if (!(error instanceof Refusal) || isRefusal(error, 'job_cancelled')) throw error;
    return error.message;
  }
}

/** Limits the content to the free space of the disk. */
export function limitsFor(folder: string): ZipLimits {
  return { members: MOST_MEMBERS, bytes: roomFor(folder), ratio: USUAL_RATIO };
}

export function isBelowLeftOut(path: string): boolean {
  const parts = path.split('/');
  return parts.some((_, index) => isLeftOut(parts.slice(0, index + 1).join('/')));
}

/** Turns refusals of an archive into refusals of a damaged snapshot. */
async function asSnapshotDamage<Result>(work: () => Promise<Result>): Promise<Result> {
  try {
    return await work();
  } catch (error) {
    const fault = archiveFault(error);
    throw fault === undefined ? error : refusals.snapshotDamaged(fault);
  }
}
