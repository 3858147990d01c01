/** Lists the snapshots of a project; the file threads run it for the HTTP thread. Also fills the heads of manifests. */
import { randomUUID } from 'node:crypto';
import { join } from 'node:path';
import { listHeads, publishManifest, type ManifestHead } from './content/manifest.js';
import { SNAPSHOTS } from '../lab/projects/folder-layout.js';
import type { TaskTable } from '../base/threads/task.js';
import { ownFolder } from '../base/disk/containment.js';
import type { KeepState } from '../lab/gns3-file/mirror.js';
import { sortOut } from '../lab/projects/records.js';
import { unpackRecords } from '../base/store/packing.js';
import { findGns3Snapshots } from './projects/gns3-snapshots.js';
import { contentOf, type LabContent } from './lab-content.js';
import { bySnapshotAge, newSnapshot, type ListedSnapshot, type Snapshot } from './snapshot.js';
import type { ContentTree } from './content/content-tree.js';

export interface SnapshotListTasks extends TaskTable {
  /** Ordered by age. `root` is the project's folder. */
  readonly listSnapshots: (input: { root: string; projectId: string }) => ListedSnapshot[];
  /** Makes a snapshot of the topology alone. Returns false if the project is gone. */
  readonly keepState: (input: Parameters<KeepState>[0]) => boolean;
}

const NO_FILES = { folders: [], files: [], links: [] };

export const snapshotListTasks: SnapshotListTasks = {
  listSnapshots({ root, projectId }) {
    return listSnapshots(join(root, SNAPSHOTS), projectId);
  },

  keepState({ root, projectId, records, name }) {
    const lab = sortOut(unpackRecords(records));
    if (lab === undefined) return false;
    const content = contentOf(lab);
    const snapshot = newSnapshot({ snapshotId: randomUUID(), projectId }, name, undefined, new Date());
    const folder = ownFolder(root, SNAPSHOTS, true);
    const head = {
      snapshot: { ...snapshot, form: 'topology' },
      counts: countsOf(content),
      added: 0,
      ...factsOf(NO_FILES),
    };
    publishManifest(folder, head, content, NO_FILES);
    return true;
  },
};

export function listSnapshots(folder: string, projectId: string): ListedSnapshot[] {
  const own = listHeads(folder).heads.map(({ snapshot }): ListedSnapshot => {
    const { form, ...shown } = snapshot as unknown as Snapshot & { readonly form?: 'topology' };
    return { form: form ?? 'wirefarm', snapshot: { ...shown, project_id: projectId } };
  });
  const others = findGns3Snapshots(folder, projectId).map((snapshot): ListedSnapshot => {
    return { form: 'gns3', snapshot };
  });
  return [...own, ...others].sort((a, b) => bySnapshotAge(a.snapshot, b.snapshot));
}

export function factsOf({ files }: ContentTree): Pick<ManifestHead, 'files' | 'isSealed' | 'size'> {
  return {
    size: files.reduce((sum, { size }) => sum + size, 0),
    files: files.length,
    isSealed: files.every(({ digest }) => digest !== undefined),
  };
}

export function countsOf({ nodes, links, drawings }: LabContent): ManifestHead['counts'] {
  return { nodes: nodes.length, links: links.length, drawings: drawings.length };
}
