/** The lab file of a project in its archive, beside what GNS3 knows. Runs in job threads. */
import { OWN_FOLDER } from '../../lab/projects/folder-layout.js';
import { labFileRecord, type LabFileRecord } from '../../lab/lab-file/lab-file-record.js';
import { readSmallMember } from '../archives/zip-content.js';
import type { PlannedMember } from '../archives/zip-plan.js';
import { plannedText } from './planned-files.js';
import type { ProjectArchive } from './project-archive.js';

/** Neither a restore nor an import takes a file from there into a project. */
const PATH = `${OWN_FOLDER}/lab-file.json`;
const LARGEST = 64 * 1024 * 1024;

/** Plans the member of a lab file, if there is one. */
export function plannedLabFile(record: LabFileRecord | undefined): PlannedMember[] {
  return record === undefined ? [] : [plannedText(PATH, JSON.stringify(record))];
}

/** Anybody may have made the archive: what is no lab file is passed over. */
export async function archivedLabFile(
  fd: number,
  { members }: ProjectArchive,
): Promise<LabFileRecord | undefined> {
  const member = members.find(({ path, kind }) => path === PATH && kind === 'file');
  if (member === undefined || member.size > LARGEST) return undefined;
  const text = (await readSmallMember(fd, member, LARGEST)).toString('utf8');
  try {
    return labFileRecord.safeParse(JSON.parse(text)).data;
  } catch {
    return undefined;
  }
}
