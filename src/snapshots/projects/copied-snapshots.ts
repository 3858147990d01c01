/** Copies the snapshots of a project into another folder, for a copy or an import. Runs in worker threads. */
import { copyFileSync, linkSync, mkdirSync, readdirSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { ContentStore } from '../content/content-store.js';
import type { ContentTree } from '../content/content-tree.js';
import type { JobProgress } from '../content/job-progress.js';
import { listHeads, publishManifest, readManifest } from '../content/manifest.js';
import { CONTENT } from '../content/objects.js';
import { freezeFiles } from '../content/frozen-tree.js';
import { isRefusal, Refusal } from '../../base/errors/errors.js';
import type { RanNode } from '../../lab/lab-run.js';
import { syncFolder } from '../../base/disk/published-file.js';
import { unpackSnapshot } from './archived-snapshot.js';
import { gns3Archive } from './gns3-snapshots.js';
import { contentOfCopy, idInCopy, pathInCopy, readLabContent, type LabContent } from '../lab-content.js';
import { isLeftOut } from '../left-out.js';
import { countsOf, factsOf, listSnapshots } from '../snapshot-list-tasks.js';
import type { Snapshot } from '../snapshot.js';

/** The project that gets the snapshots. */
interface SnapshotTarget {
  readonly projectId: string;
  /** The folder for the snapshots; it exists. */
  readonly folder: string;
  /** For temporary files; it does not exist yet, and is removed afterwards. */
  readonly workFolder: string;
  /** Whether the project is a copy, with new ids, and not the same project. */
  readonly isCopy: boolean;
}

/** The nodes that ran in a snapshot of an archive. */
type RanOf = (snapshot: Snapshot) => readonly RanNode[] | undefined;

const MOST_FILES = 500_000;

/**
 * Copies snapshots in the content store, those with these names or all, which share their objects with the original. Returns
 * warnings about the others.
 */
export function copySnapshots(
  from: string,
  target: SnapshotTarget,
  names: readonly string[] | undefined,
): string[] {
  const { heads, damaged } = listHeads(from);
  const warnings = damaged.map((name) => `The snapshot in ${name} is damaged: it was left out`);
  if (heads.length > 0) shareObjects(join(from, CONTENT), join(target.folder, CONTENT));
  for (const { snapshot, added } of heads) {
    const original = snapshot as unknown as Snapshot;
    if (names?.includes(original.name) === false) continue;
    const left = leftOut(original, () => {
      const { topology, tree } = readManifest(from, original.snapshot_id);
      publish(target, original, { content: readLabContent(topology), tree, added });
    });
    warnings.push(...left);
  }
  return warnings;
}

/** Stores a snapshot that GNS3 made in the content store. Refuses (409) a damaged one. */
async function admitSnapshot(
  archive: string,
  snapshot: Snapshot,
  target: SnapshotTarget,
  progress: JobProgress,
  ranOf: RanOf,
): Promise<void> {
  const unpacked = join(target.workFolder, 'unpacked');
  try {
    mkdirSync(target.workFolder, { recursive: true });
    const content = await unpackSnapshot(archive, unpacked, progress, undefined);
    mkdirSync(unpacked, { recursive: true });
    const options = { isLeftOut, known: () => undefined, limit: MOST_FILES };
    const frozen = freezeFiles(unpacked, join(target.workFolder, 'held'), options);
    const id = idInCopy(target.projectId, snapshot.snapshot_id);
    const { tree, added } = new ContentStore(target.folder).store(id, frozen, progress);
    publish(target, snapshot, { content: { ...content, ran: ranOf(snapshot) }, tree, added });
  } finally {
    rmSync(target.workFolder, { recursive: true, force: true });
  }
}

/** Stores all snapshots that GNS3 made in the content store. Returns warnings about those that were left out. */
export async function admitGns3Snapshots(
  from: string,
  projectId: string,
  target: SnapshotTarget,
  progress: JobProgress,
  ranOf: RanOf = () => undefined,
): Promise<string[]> {
  const warnings: string[] = [];
  for (const { snapshot, form } of listSnapshots(from, projectId)) {
    if (form !== 'gns3') continue;
    try {
      await admitSnapshot(gns3Archive(from, snapshot), snapshot, target, progress, ranOf);
    } catch (error) {
      warnings.push(warningOf(snapshot, error));
    }
  }
  return warnings;
}

/** A damaged snapshot is left out with a warning; other errors are thrown on. */
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
  { projectId, folder, isCopy }: SnapshotTarget,
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

/** The tree in a copy: paths and targets of links follow the new ids. */
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

/** A link to a file of another node leads to the copy of that node. */
function targetInCopy(copyId: string, nodeIds: ReadonlySet<string>, target: string): string {
  if (target.startsWith('/')) return target;
  return target
    .split('/')
    .map((part) => (nodeIds.has(part.toLowerCase()) ? idInCopy(copyId, part) : part))
    .join('/');
}

/** Objects never change, so hard links are as good as copies. */
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
