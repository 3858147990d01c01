/** The refusals of snapshots, exports and imports. */
import { Refusal, shortened } from './refusal.js';

const CANNOT_IMPORT = 'Cannot import project, ';

export const snapshotRefusals = {
  // Jobs and snapshots
  dealUnderWay: () =>
    new Refusal(
      409,
      'deal_under_way',
      'The lab is being dealt, collected or reset just now: wait for its job',
    ),
  dealUnfinished: (failed: string) =>
    new Refusal(409, 'deal_unfinished', `Not done for all members, and it can be done again: ${failed}`),
  dealStartGone: (name: string) =>
    new Refusal(409, 'deal_start_gone', `The copy has no snapshot '${name}' any more, which it began as`),
  notTeacher: () =>
    new Refusal(403, 'not_teacher', 'Only a teacher of the group, or an admin, deals labs to its members'),
  jobCancelled: () => new Refusal(409, 'job_cancelled', 'Cancelled on request: nothing was changed'),
  jobUnknown: (id: string) => new Refusal(404, 'job_unknown', `Job ID ${id} doesn't exist`),
  projectRunning: () => new Refusal(409, 'project_running', 'Project must be stopped in order to export it'),
  holdTooLong: (seconds: number, longest: number) =>
    new Refusal(
      409,
      'hold_too_long',
      `The nodes would stand still for about ${seconds} s, which is more than ${longest} s; nothing was held. ` +
        'Ask with ?running=true&hold=long if they may',
    ),
  backupUnknown: (id: string) =>
    new Refusal(404, 'backup_unknown', `Backup ID ${shortened(id)} doesn't exist`),
  backupBusy: () => new Refusal(409, 'backup_busy', 'The backup is being downloaded: try again later'),
  backupDamaged: (what: string, reason: string) =>
    new Refusal(409, 'backup_damaged', `The backup is damaged (${what}: ${reason})`),
  projectNotBackedUp: (name: string, reason: string) =>
    new Refusal(
      409,
      'project_not_backed_up',
      `No backup was made, because of the project ${name}: ${reason}`,
    ),
  snapshotNameRefused: (longest: number) =>
    new Refusal(
      400,
      'snapshot_name_refused',
      `The name of a snapshot must not contain slashes or control characters, and take at most ${longest} bytes`,
    ),
  snapshotUnknown: (id: string) => new Refusal(404, 'snapshot_unknown', `Snapshot ID ${id} doesn't exist`),
  snapshotExists: (name: string) =>
    new Refusal(409, 'snapshot_exists', `The snapshot name ${name} already exists`),
  snapshotFileExists: (name: string) =>
    new Refusal(409, 'snapshot_file_exists', `The snapshot file '${name}' already exists`),
  snapshotIndexUnreadable: () =>
    new Refusal(409, 'snapshot_index_unreadable', 'Could not read snapshot configuration file'),
  exchangeUnfinished: (reason: string) =>
    new Refusal(
      500,
      'content_exchange_unfinished',
      `The project has its new content, but not all of its files are in their place yet (${reason}): ` +
        'open the project again, which completes this',
    ),
  exchangeGivenUp: (reason: string) =>
    new Refusal(
      409,
      'content_exchange_given_up',
      `The project has its new content, but its files could not be exchanged (${reason}): they are as they ` +
        'were before',
    ),
  filesNotExchanged: (path: string, reason: string) =>
    new Refusal(
      409,
      'files_not_exchanged',
      `${path} cannot be exchanged, because ${reason}: nothing was changed`,
    ),
  linkNotRestored: (path: string, fault: string) =>
    new Refusal(
      409,
      'link_not_restored',
      `The snapshot has a link ${path} that is not made, because ${fault}: nothing was changed`,
    ),
  snapshotDamaged: (what: string) =>
    new Refusal(409, 'snapshot_damaged', `The snapshot is damaged (${what}): nothing was changed`),
  importNoArchive: () =>
    new Refusal(409, 'import_no_archive', `${CANNOT_IMPORT}not a GNS3 project (invalid zip)`),
  importArchiveRefused: (reason: string) =>
    new Refusal(
      409,
      'import_archive_refused',
      `${CANNOT_IMPORT}because of the archive as a whole: ${reason}. Nothing was changed`,
    ),
  importNoTopology: () =>
    new Refusal(409, 'import_no_topology', `${CANNOT_IMPORT}project.gns3 file could not be found`),
  importBadTopology: () =>
    new Refusal(409, 'import_bad_topology', `${CANNOT_IMPORT}the project.gns3 file is corrupted`),
  importRefused: (member: string, reason: string) =>
    new Refusal(
      409,
      'import_refused',
      `${CANNOT_IMPORT}because of '${member.slice(0, 4096)}' in the archive: ${reason}. Nothing was changed`,
    ),
  libraryMissing: (method: string, library: string, debianPackage: string) =>
    new Refusal(
      409,
      'library_missing',
      `${method} needs the library ${library}, which is not on this host: install it ` +
        `(on Debian and Ubuntu, the package ${debianPackage})`,
    ),

  // Exports, imports and duplicates of projects
  exportCompression: (given: string) =>
    new Refusal(
      400,
      'export_compression_unknown',
      `The compression ${shortened(given)} is not known: choose none, zip, bzip2 or lzma`,
    ),
  exportOfClone: () =>
    new Refusal(
      409,
      'export_of_linked_clone',
      'Projects with a linked virtualbox clone node cannot not be exported. Please use Qemu instead.',
    ),
  exportOfMachine: (type: string) =>
    new Refusal(409, 'export_of_machine', `Projects with a ${type} node cannot be exported`),
  projectFolderGone: (path: string) =>
    new Refusal(404, 'project_folder_gone', `Project could not be found at '${path}'`),
  projectNotDuplicated: (reason: string) =>
    new Refusal(409, 'project_not_duplicated', `Cannot duplicate project: ${reason}`),
  importPathOfFile: () =>
    new Refusal(409, 'import_path_of_file', 'The destination path should not contain .gns3'),
  importOverProject: (id: string) =>
    new Refusal(
      409,
      'import_over_project',
      `${CANNOT_IMPORT}because project ${id} is here already. Import it to another id, or delete ` +
        'that project first. Nothing was changed',
    ),

  // Files of projects that snapshots and exports read
  contentUnreadable: (path: string, reason: string) =>
    new Refusal(409, 'content_unreadable', `Cannot read ${path}: ${reason}`),
  contentChanging: (path: string) =>
    new Refusal(
      409,
      'content_changing',
      `${path} was changed while it was read: stop what writes to it, then try again`,
    ),
} as const;

const ARCHIVE_FAULTS: readonly string[] = [
  'import_no_archive',
  'import_archive_refused',
  'import_no_topology',
  'import_bad_topology',
  'import_refused',
];

/** The fault of an archive, in the words that follow "Cannot import project"; undefined for any other error. */
export function archiveFault(error: unknown): string | undefined {
  if (!(error instanceof Refusal) || !ARCHIVE_FAULTS.includes(error.code)) return undefined;
  return error.message.slice(CANNOT_IMPORT.length);
}
