/**
 * Reads archives of projects, in the format of GNS3's exports and snapshots. The whole directory is checked
 * before anything is unpacked. Runs in job threads.
 */
import { closeSync, mkdirSync, symlinkSync, utimesSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { CHUNK_LENGTH, isZeros } from '../content/content-digest.js';
import type { JobProgress } from '../content/job-progress.js';
import { isRefusal, refusals } from '../../base/errors/errors.js';
import { MOST_CHARACTERS } from '../../lab/projects/content-limit.js';
import { movedFiles, type OlderProject } from '../../lab/gns3-file/older/conversion.js';
import { parseTopology } from '../../lab/gns3-file/format.js';
import { BulkFile } from '../../base/disk/bulk-file.js';
import { syncFolder } from '../../base/disk/published-file.js';
import { openRegularFile } from '../../base/disk/regular-file.js';
import { archiveRange } from '../archives/zip-bounds.js';
import { readMember, readSmallMember } from '../archives/zip-content.js';
import { openZip, type ZipArchive, type ZipLimits } from '../archives/zip-directory.js';
import type { ZipMember } from '../archives/zip-member.js';
import type { LabContent } from '../lab-content.js';

export interface ProjectArchive {
  readonly projectId: string;
  readonly content: LabContent;
  /** All members but the topology file. */
  readonly members: readonly ZipMember[];
}

/** The path of a member in the target folder; undefined leaves it out. */
type PlaceOf = (path: string) => string | undefined;

const TOPOLOGY = 'project.gns3';
/** Twice the limit of a topology's content, since the file format adds to it. */
const LARGEST_TOPOLOGY = 2 * MOST_CHARACTERS;
const FILE_MODE = 0o644;
const OWNER_WRITES = 0o600;

/** Opens the archive while `use` runs. Refuses (409) a file that is none, or must not be unpacked. */
export async function withArchive<Result>(
  path: string,
  limits: ZipLimits,
  use: (fd: number, archive: ProjectArchive) => Promise<Result>,
): Promise<Result> {
  const { fd, size } = openRegularFile(path);
  try {
    const zip = await openZip(fd, archiveRange(fd, size), limits);
    return await use(fd, await readProject(fd, zip));
  } finally {
    closeSync(fd);
  }
}

/** Unpacks the members that have a place into the target folder, which it makes; the disk has them afterwards. */
export async function unpack(
  fd: number,
  { members }: ProjectArchive,
  target: string,
  placeOf: PlaceOf,
  progress: JobProgress,
): Promise<void> {
  mkdirSync(target, { recursive: true });
  const folders = new Set<string>([target]);
  const makeFolder = (folder: string): void => {
    if (folders.has(folder)) return;
    makeFolder(dirname(folder));
    mkdirSync(folder);
    folders.add(folder);
  };
  const placed = members.flatMap((member) => {
    const place = placeOf(member.path);
    return place === undefined ? [] : [{ member, path: join(target, place) }];
  });
  progress.expect(placed.reduce((sum, { member }) => sum + member.size, 0));
  for (const { member, path } of placed) {
    makeFolder(member.kind === 'folder' ? path : dirname(path));
    if (member.kind === 'file') await unpackFile(fd, member, path, progress);
  }
  // Links come last, so that nothing is made through one.
  for (const { member, path } of placed) {
    if (member.kind === 'link')
      symlinkSync((await readSmallMember(fd, member, member.size)).toString(), path);
  }
  for (const folder of folders) syncFolder(folder);
}

/** Reads and checks all content. */
export async function checkMembers(
  fd: number,
  { members }: ProjectArchive,
  progress: JobProgress,
): Promise<void> {
  progress.expect(members.reduce((sum, { size }) => sum + size, 0));
  for (const member of members) {
    if (member.kind !== 'folder')
      await readMember(fd, member, ({ length }) => {
        progress.advance(length);
      });
  }
}

async function unpackFile(fd: number, member: ZipMember, path: string, progress: JobProgress): Promise<void> {
  const file = BulkFile.create(path, (member.mode ?? FILE_MODE) | OWNER_WRITES, member.size);
  try {
    await readMember(fd, member, (bytes) => {
      writeSparsely(file, bytes);
      progress.advance(bytes.length);
    });
    file.finish(true);
  } catch (error) {
    file.discard();
    throw error;
  }
  const seconds = member.modifiedMs / 1000;
  utimesSync(path, seconds, seconds);
}

/** Archives have no holes: chunks of zeros become holes. */
function writeSparsely(file: BulkFile, bytes: Uint8Array): void {
  for (let done = 0; done < bytes.length; done += CHUNK_LENGTH) {
    const chunk = bytes.subarray(done, done + CHUNK_LENGTH);
    if (isZeros(chunk)) file.skip(chunk.length);
    else file.write(chunk);
  }
}

async function readProject(fd: number, { members }: ZipArchive): Promise<ProjectArchive> {
  // An archive may have several topology files of this name; unpacking would leave the last one.
  const topology = members.findLast(({ path, kind }) => path === TOPOLOGY && kind === 'file');
  if (topology === undefined) throw refusals.importNoTopology();
  const text = (await readSmallMember(fd, topology, LARGEST_TOPOLOGY)).toString('utf8');
  try {
    const { projectId, settings, computes, nodes, links, drawings, older } = parseTopology(text, TOPOLOGY);
    const others = members.filter(({ path }) => path !== TOPOLOGY);
    return {
      projectId,
      content: { settings, computes, nodes, links, drawings, directed: [] },
      members: older === undefined ? others : withMoved(others, older),
    };
  } catch (error) {
    if (isRefusal(error, 'topology_unreadable')) throw refusals.importBadTopology();
    throw error;
  }
}

/** The members at the places that they have in a project of today. */
function withMoved(members: readonly ZipMember[], older: OlderProject): ZipMember[] {
  const moved = movedFiles(older, members);
  return members.map((member) => ({ ...member, path: moved.get(member.path) ?? member.path }));
}
