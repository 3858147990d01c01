/** The refusals of snapshots, exports and imports. */
import { Refusal, shortened } from './refusal.js';

export const snapshotRefusals = {
  // Snapshots, exports and imports
  jobCancelled: () => new Refusal(409, 'Cancelled on request: nothing was changed'),
  jobUnknown: (id: string) => new Refusal(404, `Job ID ${id} doesn't exist`),
  projectRunning: () => new Refusal(409, 'Project must be stopped in order to export it'),
  snapshotUnknown: (id: string) => new Refusal(404, `Snapshot ID ${id} doesn't exist`),
  snapshotExists: (name: string) => new Refusal(409, `The snapshot name ${name} already exists`),
  snapshotFileExists: (name: string) => new Refusal(409, `The snapshot file '${name}' already exists`),
  snapshotIndexUnreadable: () => new Refusal(409, 'Could not read snapshot configuration file'),
  exchangeUnfinished: (reason: string) =>
    new Refusal(
      500,
      `The project has its other content, but not all of its files are in their place yet (${reason}): ` +
        'open the project again, which goes on with that',
    ),
  exchangeGivenUp: (reason: string) =>
    new Refusal(
      409,
      `The project has its other content, but its files could not be exchanged (${reason}): they are what they ` +
        'were before',
    ),
  filesNotExchanged: (path: string, reason: string) =>
    new Refusal(409, `${path} cannot be exchanged, because ${reason}: nothing was changed`),
  linkNotRestored: (path: string, fault: string) =>
    new Refusal(
      409,
      `The snapshot has a link ${path} that is not made, because ${fault}: nothing was changed`,
    ),
  snapshotDamaged: (what: string) =>
    new Refusal(409, `The snapshot is damaged (${what}): nothing was changed`),
  importNoArchive: () => new Refusal(409, 'Cannot import project, not a GNS3 project (invalid zip)'),
  importArchiveRefused: (reason: string) =>
    new Refusal(
      409,
      `Cannot import project, because of the archive as a whole: ${reason}. Nothing was changed`,
    ),
  importNoTopology: () => new Refusal(409, 'Cannot import project, project.gns3 file could not be found'),
  importBadTopology: () => new Refusal(409, 'Cannot import project, the project.gns3 file is corrupted'),
  importRefused: (member: string, reason: string) =>
    new Refusal(
      409,
      `Cannot import project, because of '${member.slice(0, 4096)}' in the archive: ${reason}. Nothing was changed`,
    ),
  libraryMissing: (method: string, library: string, debianPackage: string) =>
    new Refusal(
      409,
      `${method} needs the library ${library}, which is not on this host: install it ` +
        `(on Debian and Ubuntu, the package ${debianPackage})`,
    ),

  // Exports, imports and duplicates of projects
  exportCompression: (given: string) =>
    new Refusal(400, `The compression ${shortened(given)} is not known: choose none, zip, bzip2 or lzma`),
  exportOfClone: () =>
    new Refusal(
      409,
      'Projects with a linked virtualbox clone node cannot not be exported. Please use Qemu instead.',
    ),
  exportOfMachine: (type: string) => new Refusal(409, `Projects with a ${type} node cannot be exported`),
  projectFolderGone: (path: string) => new Refusal(404, `Project could not be found at '${path}'`),
  projectNotDuplicated: (reason: string) => new Refusal(409, `Cannot duplicate project: ${reason}`),
  importPathOfFile: () => new Refusal(409, 'The destination path should not contain .gns3'),
  importOverProject: (id: string) =>
    new Refusal(
      409,
      `Cannot import project, because project ${id} is here already. Import it to another id, or delete ` +
        'that project first. Nothing was changed',
    ),

  // What snapshots and exports hold of the files of a project
  contentUnreadable: (path: string, reason: string) => new Refusal(409, `Cannot read ${path}: ${reason}`),
  contentChanging: (path: string) =>
    new Refusal(409, `${path} was changed while it was read: stop what writes to it, then try again`),
} as const;
