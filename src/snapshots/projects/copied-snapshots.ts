/** The snapshots of a project in a copy of it, where everything has an id of its own. Runs in worker threads. */
import { copyFileSync, linkSync, mkdirSync, readdirSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { ContentStore } from '../content/content-store.js';
import type { ContentTree } from '../content/content-tree.js';
import type { JobProgress } from '../content/job-progress.js';
import { listHeads, publishManifest, readManifest } from '../content/manifest.js';
import { CONTENT } from '../content/objects.js';
import { freezeFiles } from '../content/frozen-tree.js';
import { isRefusal, Refusal } from '../../base/errors/errors.js';
import { syncFolder } from '../../base/disk/published-file.js';
import { unpackSnapshot } from './archived-snapshot.js';
import { gns3Archive } from './gns3-snapshots.js';
import { contentOfCopy, idInCopy, pathInCopy, readLabContent, type LabContent } from '../lab-content.js';
import { isLeftOut } from '../left-out.js';
import { countsOf, factsOf, listSnapshots } from '../snapshot-list-tasks.js';
import type { Snapshot } from '../snapshot.js';

/** Whose snapshots they become. */
export interface SnapshotHome {
  readonly projectId: string;
  /** For the snapshots; it is there. */
  readonly folder: string;
  /** For what is on its way; not there, and removed afterwards. */
  readonly workFolder: string;
  /** Whether ids are those of a copy; otherwise it is the same project as it was. */
  readonly isCopy: boolean;
}

const MOST_FILES = 500_000;

/** Ours: what they have of files they share with those of the original. Returns what could not be taken along. */
export function copySnapshots(from: string, home: SnapshotHome): string[] {
  const { heads, damaged } = listHeads(from);
  const warnings = damaged.map((name) => `The snapshot in ${name} is damaged: it was left out`);
  if (heads.length > 0) shareObjects(join(from, CONTENT), join(home.folder, CONTENT));
  for (const { snapshot, added } of heads) {
    const original = snapshot as unknown as Snapshot;
    const left = leftOut(original, () => {
      const { topology, tree } = readManifest(from, original.snapshot_id);
      publish(home, original, { content: readLabContent(topology), tree, added });
    });
    warnings.push(...left);
  }
  return warnings;
}

/** One that GNS3 made becomes one of ours. Refuses (409) what is damaged. */
async function admitSnapshot(
  archive: string,
  snapshot: Snapshot,
  home: SnapshotHome,
  progress: JobProgress,
): Promise<void> {
  const unpacked = join(home.workFolder, 'unpacked');
  try {
    mkdirSync(home.workFolder, { recursive: true });
    const content = await unpackSnapshot(archive, unpacked, progress, undefined);
    mkdirSync(unpacked, { recursive: true });
    const options = { isLeftOut, known: () => undefined, limit: MOST_FILES };
    const frozen = freezeFiles(unpacked, join(home.workFolder, 'held'), options);
    const id = idInCopy(home.projectId, snapshot.snapshot_id);
    const { tree, added } = new ContentStore(home.folder).store(id, frozen, progress);
    publish(home, snapshot, { content, tree, added });
  } finally {
    rmSync(home.workFolder, { recursive: true, force: true });
  }
}

/** The snapshots that GNS3 made. */
export async function admitGns3Snapshots(
  from: string,
  projectId: string,
  home: SnapshotHome,
  progress: JobProgress,
): Promise<string[]> {
  const warnings: string[] = [];
  for (const { snapshot, form } of listSnapshots(from, projectId)) {
    if (form !== 'gns3') continue;
    try {
      await admitSnapshot(gns3Archive(from, snapshot), snapshot, home, progress);
    } catch (error) {
      warnings.push(warningOf(snapshot, error));
    }
  }
  return warnings;
}

/** What is damaged is no reason to lose the rest. */
function warningOf({ name }: Snapshot, error: unknown): string {
  if (!(error instanceof Refusal) || isRefusal(error, 'job_cancelled')) throw error;
  return `The snapshot '${name}' was left out: ${error.message}`;
}

function leftOut(snapshot: Snapshot, work: () => void): string[] {
  try {
    work();
    return [];
  } catch (error) {
    return [warningOf(snapshot, error)];
  }
}

function publish(
  { projectId, folder, isCopy }: SnapshotHome,
  snapshot: Snapshot,
  stored: { readonly content: LabContent; readonly tree: ContentTree; readonly added: number },
): void {
  const ids = nodeIdsOf(stored.content);
  const content = isCopy ? contentOfCopy(projectId, stored.content) : stored.content;
  const tree = isCopy ? treeOfCopy(projectId, ids, stored.tree) : stored.tree;
  const own = { ...snapshot, snapshot_id: idInCopy(projectId, snapshot.snapshot_id), project_id: projectId };
  const head = { snapshot: own, counts: countsOf(content), added: stored.added, ...factsOf(tree) };
  publishManifest(folder, head, content, tree);
}

export function nodeIdsOf({ nodes }: LabContent): ReadonlySet<string> {
  return new Set(nodes.map(({ node_id: id }) => id.toLowerCase()));
}

interface Tree {
  readonly folders: readonly { readonly path: string }[];
  readonly files: readonly { readonly path: string }[];
  readonly links: readonly { readonly path: string; readonly target: string }[];
}

/** Where everything lies in a copy, and where links lead to then. */
export function treeOfCopy<Original extends Tree>(
  copyId: string,
  nodeIds: ReadonlySet<string>,
  tree: Original,
): Original {
  const placed = <Entry extends { readonly path: string }>(entries: readonly Entry[]): Entry[] =>
    entries.map((entry) => ({ ...entry, path: pathInCopy(copyId, nodeIds, entry.path) }));
  const links = placed(tree.links).map((link) => ({
    ...link,
    target: targetInCopy(copyId, nodeIds, link.target),
  }));
  return { ...tree, folders: placed(tree.folders), files: placed(tree.files), links };
}

/** A link to a file of another node leads to that of its copy. */
function targetInCopy(copyId: string, nodeIds: ReadonlySet<string>, target: string): string {
  if (target.startsWith('/')) return target;
  return target
    .split('/')
    .map((part) => (nodeIds.has(part.toLowerCase()) ? idInCopy(copyId, part) : part))
    .join('/');
}

/** Objects never change, so a second name is as good as a copy. */
function shareObjects(from: string, to: string): void {
  mkdirSync(to, { recursive: true });
  for (const entry of readdirSync(from, { withFileTypes: true })) {
    if (!entry.isFile()) continue;
    const [source, target] = [join(from, entry.name), join(to, entry.name)];
    try {
      linkSync(source, target);
    } catch (error) {
      const code = error instanceof Error && 'code' in error ? error.code : undefined;
      if (code === 'ENOSPC' || code === 'EDQUOT') throw error;
      copyFileSync(source, target);
    }
  }
  syncFolder(to);
}
