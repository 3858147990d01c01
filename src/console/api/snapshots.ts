/** Snapshots of labs. */
import type { BegunJobShape } from '../../api/shapes/jobs.js';
import type { ComparisonShape, FileChangeShape, SnapshotShape } from '../../api/shapes/snapshots.js';
import { segment, type Call } from './call.js';

const all = (projectId: string): string => `v2/projects/${segment(projectId)}/snapshots`;

export const createSnapshot = (projectId: string, name: string): Call<unknown> => ({
  method: 'POST',
  path: all(projectId),
  body: { name },
});

const one = ({ project_id: projectId, snapshot_id: id }: SnapshotShape): string =>
  `${all(projectId)}/${segment(id)}`;

export const listSnapshots = (projectId: string): Call<SnapshotShape[]> => ({
  method: 'GET',
  path: all(projectId),
});

/** The changes of the open lab since then. */
export const compareSnapshot = (snapshot: SnapshotShape): Call<ComparisonShape> => ({
  method: 'GET',
  path: `${one(snapshot)}/diff`,
});

/** The lines in which one file of the lab has changed. */
export const compareFile = (snapshot: SnapshotShape, path: string): Call<FileChangeShape> => ({
  method: 'GET',
  path: `${one(snapshot)}/diff/file?${new URLSearchParams({ path }).toString()}`,
});

export const restoreNode = (snapshot: SnapshotShape, node: string): Call<BegunJobShape> => ({
  method: 'POST',
  path: `${one(snapshot)}/nodes/${segment(node)}/restore`,
});

export const restoreSnapshot = (snapshot: SnapshotShape): Call<unknown> => ({
  method: 'POST',
  path: `${one(snapshot)}/restore`,
});

export const deleteSnapshot = (snapshot: SnapshotShape): Call<void> => ({
  method: 'DELETE',
  path: one(snapshot),
});

/** The address of the archive that GNS3 makes of a snapshot, for a download. */
export const snapshotArchive = (snapshot: SnapshotShape): string => `${one(snapshot)}/archive`;
