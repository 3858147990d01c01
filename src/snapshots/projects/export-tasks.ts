/** Makes archives of projects piece by piece; the job threads run it for the HTTP thread. */
import type { TaskTable } from '../../base/threads/task.js';
import type { Packed } from '../../base/store/store.js';
import type { Compression } from '../archives/zip-member.js';
import { dropCursor, firstCursor, nextPiece, type ZipCursor, type ZipPiece } from '../archives/zip-pieces.js';
import { type ExportedProject, type ExportWish, planProject, planSnapshot, rootsOf } from './export-plan.js';
import type { Snapshot } from '../snapshot.js';
import { makeNotes, makeWorkFolder } from '../freeze-tasks.js';

export interface BegunArchive {
  readonly cursor: ZipCursor;
  readonly warnings: readonly string[];
}

/** The tasks that make the pieces of an archive. */
export interface PieceTasks extends TaskTable {
  readonly exportPiece: (input: { cursor: ZipCursor }) => ZipPiece;
  /** Gives back what is keptImages for an archive that nobody wants any more. */
  readonly dropCursor: (input: { cursor: ZipCursor }) => void;
}

export interface ExportTasks extends PieceTasks {
  /** Plans an archive of the files that `freezeProject` has kept. Refuses (409) nodes that cannot be exported. */
  readonly planExport: (
    input: ExportedProject & {
      records: Packed;
      /** The images folder. */
      images: string;
      compression: Compression;
      wish: ExportWish;
    },
  ) => BegunArchive;
  /** Plans the archive that GNS3 would have made of a snapshot in the content store. Makes the work folder. */
  readonly planSnapshotArchive: (
    input: ExportedProject & { images: string; snapshot: Snapshot },
  ) => BegunArchive;
}

export const exportTasks: ExportTasks = {
  planExport({ records, images, compression, wish, ...project }) {
    const { plan, warnings } = planProject(project, records, images, wish);
    return { cursor: firstCursor(plan, rootsOf(project, images), compression), warnings };
  },

  planSnapshotArchive({ snapshot, images, ...project }) {
    makeWorkFolder(project.root, project.workFolder);
    makeNotes(project.notes);
    const { plan, warnings } = planSnapshot(project, snapshot);
    return { cursor: firstCursor(plan, rootsOf(project, images), 'none'), warnings };
  },

  exportPiece: ({ cursor }) => nextPiece(cursor),

  dropCursor({ cursor }) {
    dropCursor(cursor);
  },
};
