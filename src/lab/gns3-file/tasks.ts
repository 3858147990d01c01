/**
 * Reads and writes topology files in worker threads, for the HTTP thread. Records of a project are passed packed,
 * because the HTTP thread only carries them between these tasks and the store.
 */
import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { refusals } from '../../base/errors/errors.js';
import type { TaskTable } from '../../base/threads/task.js';
import { containedPath } from '../../base/disk/containment.js';
import {
  createUnpublished,
  discardFile,
  publishBytes,
  publishFile,
  writeWhole,
  type UnpublishedFile,
} from '../../base/disk/published-file.js';
import { unpackRecords } from '../../base/store/packing.js';
import type { Packed } from '../../base/store/store.js';
import { SNAPSHOTS, TEMPORARY } from '../projects/folder-layout.js';
import { sortOut } from '../projects/records.js';
import { renderTopology } from './format.js';
import { digestOf, importTopology, readTopology, stampOf, type ImportedProject } from './reading.js';

/** The place of a topology file, with its known digests and the stamp of its last write. */
interface KnownFile {
  readonly folder: string;
  readonly filename: string;
  readonly digests: readonly string[];
  readonly stamp: string;
}

export type Inspection =
  | { readonly found: 'ours' | 'older' | 'missing' }
  | { readonly found: 'outside'; readonly imported: ImportedProject };

interface StagedTopology {
  readonly digest: string;
  /** The version of the project in the records. */
  readonly version: number;
  /** Undefined when the file on the disk already has this content. */
  readonly file: UnpublishedFile | undefined;
  readonly stamp: string;
  /** The path of the copy of another program's version, if there was one. */
  readonly keptAs: string | undefined;
}

export interface Gns3Tasks extends TaskTable {
  /** Finds out who wrote the topology file: only a file with an unknown digest is another program's. */
  readonly inspectTopology: (input: KnownFile & { order: number }) => Inspection;
  readonly stageTopology: (
    input: Omit<KnownFile, 'stamp'> & {
      projectId: string;
      records: Packed;
      gns3Version: string;
      keptName: string;
    },
  ) => StagedTopology;
  /** Returns the stamp of the file that is now in place. */
  readonly publishTopology: (input: UnpublishedFile) => string;
  readonly discardTopology: (input: UnpublishedFile) => void;
}

export const gns3Tasks: Gns3Tasks = {
  inspectTopology({ folder, filename, digests, stamp, order }) {
    const path = join(folder, filename);
    const now = stampOf(path);
    if (now === undefined) return { found: 'missing' };
    if (now === stamp) return { found: 'ours' };
    const bytes = readTopology(path);
    const digest = digestOf(bytes);
    if (digests.includes(digest)) return { found: digest === digests.at(-1) ? 'ours' : 'older' };
    return { found: 'outside', imported: importTopology(folder, filename, bytes, order, digests) };
  },

  stageTopology({ folder, filename, digests, projectId, records, gns3Version, keptName }) {
    const target = join(folder, filename);
    const lab = sortOut(unpackRecords(records));
    if (lab === undefined) throw refusals.projectUnknown(projectId);
    const bytes = Buffer.from(renderTopology(projectId, lab, gns3Version));
    const digest = digestOf(bytes);
    const stamp = stampOf(target);
    const present = stamp === undefined ? undefined : readTopology(target);
    const presentDigest = present === undefined ? undefined : digestOf(present);
    const staged = { digest, version: lab.version, file: undefined, stamp: stamp ?? '', keptAs: undefined };
    if (presentDigest === digest) return staged;
    let keptAs: string | undefined;
    if (present !== undefined && presentDigest !== undefined && !digests.includes(presentDigest)) {
      keptAs = keepBytes(folder, keptName, present);
    }
    const file = createUnpublished(containedPath(folder, TEMPORARY), target);
    try {
      writeWhole(file.fd, bytes, 0);
    } catch (error) {
      discardFile(file);
      throw error;
    }
    return { ...staged, file, keptAs };
  },

  publishTopology(file) {
    publishFile(file);
    return stampOf(file.target) ?? '';
  },

  discardTopology: discardFile,
};

function keepBytes(folder: string, name: string, bytes: Uint8Array): string {
  mkdirSync(containedPath(folder, SNAPSHOTS), { recursive: true });
  const target = containedPath(folder, join(SNAPSHOTS, name));
  publishBytes(containedPath(folder, TEMPORARY), target, bytes);
  return join(SNAPSHOTS, name);
}
