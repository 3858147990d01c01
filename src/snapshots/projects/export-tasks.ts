/** Makes archives of projects piece by piece; the job threads run it for the HTTP thread. */
import type { TaskTable } from '../../base/threads/task.js';
import type { Packed } from '../../base/store/store.js';
import type { Compression } from '../archives/zip-member.js';
import { packPart, sumPart, type BodyPart, type PackedPart } from '../archives/member-parts.js';
import type { ZipCursor, ZipPiece } from '../archives/zip-cursor.js';
import { layoutOf, type ArchiveLayout } from '../archives/zip-layout.js';
import { dropCursor, firstCursor, nextPiece } from '../archives/zip-pieces.js';
import {
  planProject,
  planSnapshot,
  rootsOf,
  type ExportedProject,
  type ExportRequest,
} from './export-plan.js';
import type { PlanRoots } from '../archives/zip-plan.js';
import type { SnapshotMemory } from '../known-memories.js';
import type { Snapshot } from '../snapshot.js';
import { makeNotes, makeWorkFolder } from '../freeze-tasks.js';

export interface BegunArchive {
  readonly cursor: ZipCursor;
  /** Only of an archive whose members are stored. */
  readonly layout: ArchiveLayout | undefined;
  readonly warnings: readonly string[];
}

/** The tasks that make the pieces of an archive. */
export interface PieceTasks extends TaskTable {
  readonly exportPiece: (input: { cursor: ZipCursor; room: SharedArrayBuffer }) => ZipPiece;
  readonly packPart: (input: BodyPart & { room: SharedArrayBuffer }) => PackedPart;
  readonly sumPart: (input: BodyPart & { before: number }) => number;
  /** Frees what is held for an archive that is given up. */
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
      request: ExportRequest;
      /** The memories in snapshots that are exported as well. */
      memories: readonly SnapshotMemory[];
    },
  ) => BegunArchive;
  /** Plans the archive that GNS3 would have made of a snapshot in the content store. Makes the work folder. */
  readonly planSnapshotArchive: (
    input: ExportedProject & { images: string; snapshot: Snapshot },
  ) => BegunArchive;
}

export const exportTasks: ExportTasks = {
  planExport({ records, images, compression, request, memories, ...project }) {
    const { plan, warnings } = planProject(project, records, images, { ...request, memories });
    return { ...begun(plan, rootsOf(project, images), compression), warnings };
  },

  planSnapshotArchive({ snapshot, images, ...project }) {
    makeWorkFolder(project.root, project.workFolder);
    makeNotes(project.notes);
    const { plan, warnings } = planSnapshot(project, snapshot);
    return { ...begun(plan, rootsOf(project, images), 'none'), warnings };
  },

  exportPiece: ({ cursor, room }) => nextPiece(cursor, room),
  packPart,
  sumPart,

  dropCursor({ cursor }) {
    dropCursor(cursor);
  },
};

function begun(plan: string, roots: PlanRoots, compression: Compression): Omit<BegunArchive, 'warnings'> {
  const layout = compression === 'none' ? layoutOf(plan, roots) : undefined;
  return { cursor: firstCursor(plan, roots, compression), layout };
}
