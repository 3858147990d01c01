/**
 * The places of saved memory. It lies below `snapshots`, where no client writes: a folder for each snapshot, in it a file
 * for each node. Pure.
 */
import { join } from 'node:path';
import type { KeptMemory, SavedMemory } from '../lab/lab-run.js';
import { SNAPSHOTS } from '../lab/projects/folder-layout.js';

/** Within the folder of the snapshots, and within the work folder of a job that saves memory. */
export const MEMORY = 'memory';

/** The folder in the work folder of a job into which memory is saved. */
export function newMemoryFolder(workFolder: string): string {
  return join(workFolder, MEMORY);
}

export function keptMemory(
  root: string,
  snapshotId: string,
  nodeId: string,
  memory: SavedMemory,
): KeptMemory {
  return { ...memory, path: join(root, SNAPSHOTS, MEMORY, snapshotId, nodeId) };
}
