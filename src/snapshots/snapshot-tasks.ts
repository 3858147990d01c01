/** Makes, reads and removes snapshots; the job threads run it for the HTTP thread. */
import { mkdirSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { ContentStore } from './content/content-store.js';
import type { StoredSymlink } from './content/content-tree.js';
import { JobProgress } from './content/job-progress.js';
import { publishManifest, readManifest, removeManifest } from './content/manifest.js';
import { refusals } from '../base/errors/errors.js';
import { SNAPSHOTS } from '../lab/projects/folder-layout.js';
import { nodeFolder } from '../files/node-files/node-folder.js';
import type { RanNode } from '../lab/lab-run.js';
import type { EarlierNode } from '../lab/topology/node-restoring.js';
import type { ProjectSettings, StoredNode } from '../lab/gns3-file/topology-schema.js';
import type { TaskTable } from '../base/threads/task.js';
import { packChanges } from '../base/store/packing.js';
import type { Packed } from '../base/store/store.js';
import { linkFault } from './archives/zip-member.js';
import { checkSnapshot, unpackSnapshot } from './projects/archived-snapshot.js';
import { archiveSize, gns3Archive, removeGns3Snapshot } from './projects/gns3-snapshots.js';
import { contentChanges, contentOfRecords, readLabContent, type LabContent } from './lab-content.js';
import type { ListedSnapshot, Snapshot, SnapshotDetails } from './snapshot.js';
import { countsOf, factsOf } from './snapshot-list-tasks.js';
import { collectMemories, memoryFault, memorySize, placeMemories } from './memory-files.js';
import type { JobPlace } from './job-place.js';
import { makeWorkFolder, readFrozen } from './freeze-tasks.js';

/** A snapshot, and where it is. */
export interface SnapshotPlace {
  /** The project's folder. */
  readonly root: string;
  readonly listed: ListedSnapshot;
}

export interface Damage {
  readonly path: string;
  readonly reason: string;
}

/** The content of a snapshot, built in the work folder and ready to replace that of the project. */
export interface PreparedRestore {
  readonly settings: ProjectSettings;
  readonly computes: readonly unknown[];
  /** The changes of nodes, links and drawings. */
  readonly changes: Packed;
  /** Paths in the project's folder; the new content lies at the same paths below `new` in the work folder. */
  readonly paths: readonly string[];
  /** The nodes that ran, and run again after the restore. */
  readonly ran: readonly RanNode[];
}

interface PreparedNode extends EarlierNode {
  readonly paths: readonly string[];
  /** The node itself, if it ran. */
  readonly ran: readonly RanNode[];
}

export interface SnapshotTasks extends TaskTable {
  /**
   * Stores the files that `freezeProject` has kept in the work folder: the snapshot is on the disk afterwards, or nothing of
   * it is. The warnings name what was left out.
   */
  readonly createSnapshot: (
    input: JobPlace & {
      snapshot: Snapshot;
      records: Packed;
      /** The memory of those that were held lies in the work folder. */
      ran: readonly RanNode[] | undefined;
      progress: SharedArrayBuffer;
    },
  ) => { isSealed: boolean; warnings: readonly string[] };
  /** Computes the missing digests. */
  readonly sealSnapshot: (input: { root: string; id: string; progress: SharedArrayBuffer }) => void;
  readonly deleteSnapshot: (input: SnapshotPlace) => void;
  readonly describeSnapshot: (input: SnapshotPlace) => SnapshotDetails;
  /** Reads all content. */
  readonly verifySnapshot: (input: SnapshotPlace & { progress: SharedArrayBuffer }) => Promise<Damage[]>;
  /** Checks all content, and builds it in the folder `new` in the work folder. */
  readonly prepareRestore: (
    input: SnapshotPlace & { workFolder: string; progress: SharedArrayBuffer },
  ) => Promise<PreparedRestore>;
  /** Does the same for one node and its files. */
  readonly prepareNode: (
    input: SnapshotPlace & { workFolder: string; nodeId: string; progress: SharedArrayBuffer },
  ) => Promise<PreparedNode>;
}

const PROJECT_FILES = 'project-files';
/** The most paths that a warning names. */
const MOST_NAMED = 3;

export const snapshotTasks: SnapshotTasks = {
  createSnapshot({ snapshot, records, ran, progress, ...place }) {
    const folder = join(place.root, SNAPSHOTS);
    const frozen = readFrozen(place);
    const leadsOut = ({ path, target }: StoredSymlink): boolean => linkFault(path, target) !== undefined;
    const links = frozen.links.filter((link) => !leadsOut(link));
    const leftOut = frozen.links.filter(leadsOut).map(({ path }) => path);
    const content = { ...contentOfRecords(snapshot.project_id, records), ran };
    const store = new ContentStore(folder);
    const { tree, added } = store.store(
      snapshot.snapshot_id,
      { ...frozen, links },
      new JobProgress(progress),
    );
    const { isSealed } = factsOf(tree);
    const head = { snapshot: { ...snapshot }, counts: countsOf(content), added, ...factsOf(tree) };
    try {
      if (ran !== undefined) placeMemories(place.root, place.workFolder, snapshot.snapshot_id);
      publishManifest(folder, head, content, tree);
    } catch (error) {
      takeBack(folder, snapshot.snapshot_id);
      throw error;
    }
    return { isSealed, warnings: leftOut.length > 0 ? [leftOutLinks(snapshot, leftOut)] : [] };
  },

  sealSnapshot({ root, id, progress }) {
    const folder = join(root, SNAPSHOTS);
    const { head, topology, tree } = readManifest(folder, id);
    if (head.isSealed) return;
    const sealed = new ContentStore(folder).seal(tree, new JobProgress(progress));
    const { snapshot, counts, added } = head;
    publishManifest(folder, { snapshot, counts, added, ...factsOf(sealed) }, topology, sealed);
  },

  deleteSnapshot({ root, listed: { snapshot, form } }) {
    const folder = join(root, SNAPSHOTS);
    if (form === 'gns3') {
      removeGns3Snapshot(folder, snapshot);
      return;
    }
    if (!removeManifest(folder, snapshot.snapshot_id)) throw refusals.snapshotUnknown(snapshot.snapshot_id);
    collect(folder);
  },

  describeSnapshot({ root, listed: { snapshot, form } }) {
    const folder = join(root, SNAPSHOTS);
    if (form === 'gns3') {
      const size = archiveSize(folder, snapshot);
      const unknown = { nodes: null, links: null, drawings: null, files: null, digest: null };
      return { ...snapshot, form, size, unique_size: size, ...unknown, state: 'whole' };
    }
    const { head } = readManifest(folder, snapshot.snapshot_id);
    const count = (name: string): number => head.counts[name] ?? 0;
    const memory = memorySize(folder, snapshot.snapshot_id);
    return {
      ...snapshot,
      form,
      size: head.size + memory,
      unique_size: new ContentStore(folder).uniqueBytes(snapshot.snapshot_id) + memory,
      nodes: count('nodes'),
      links: count('links'),
      drawings: count('drawings'),
      files: head.files,
      state: head.isSealed ? 'whole' : 'sealing',
      digest: head.digest,
    };
  },

  async verifySnapshot({ root, listed: { snapshot, form }, progress }) {
    const folder = join(root, SNAPSHOTS);
    if (form === 'gns3') {
      const reason = await checkSnapshot(gns3Archive(folder, snapshot), new JobProgress(progress));
      return reason === undefined ? [] : [{ path: snapshot.filename, reason }];
    }
    const { topology, tree } = readManifest(folder, snapshot.snapshot_id);
    const counted = new JobProgress(progress);
    const { ran = [] } = readLabContent(topology);
    const memories = ran.flatMap((node): Damage[] => {
      const reason = memoryFault(root, snapshot.snapshot_id, node, counted);
      return reason === undefined ? [] : [{ path: `the memory of ${node.node_id}`, reason }];
    });
    return [...memories, ...new ContentStore(folder).verify(tree, counted)];
  },

  async prepareRestore({ root, listed, workFolder, progress }) {
    const built = join(makeWorkFolder(root, workFolder), 'new');
    const content = await build(root, listed, built, new JobProgress(progress), undefined);
    if (listed.form !== 'topology') mkdirSync(join(built, PROJECT_FILES), { recursive: true });
    return {
      settings: content.settings,
      computes: content.computes,
      changes: packChanges(contentChanges(listed.snapshot.project_id, content)),
      paths: readdirSync(built),
      ran: content.ran ?? [],
    };
  },

  async prepareNode({ root, listed, workFolder, nodeId, progress }) {
    const built = join(makeWorkFolder(root, workFolder), 'new');
    const wants = (content: LabContent): ((path: string) => boolean) => {
      const inside = `${nodeFolder(nodeOf(content, nodeId))}/`;
      return (path) => `${path}/`.startsWith(inside);
    };
    const content = await build(root, listed, built, new JobProgress(progress), wants);
    const node = nodeOf(content, nodeId);
    const links = content.links.filter(({ nodes }) => nodes.some((end) => end.node_id === nodeId));
    const directed = content.directed.filter(({ link_id: id }) => links.some((link) => link.link_id === id));
    const ran = (content.ran ?? []).filter(({ node_id: id }) => id === nodeId);
    if (listed.form === 'topology') return { node, links, directed, paths: [], ran };
    mkdirSync(join(built, nodeFolder(node)), { recursive: true });
    return { node, links, directed, paths: [nodeFolder(node)], ran };
  },
};

/** Removes a snapshot whose manifest may or may not be there. Throws nothing: the caller throws the first error. */
function takeBack(folder: string, id: string): void {
  try {
    removeManifest(folder, id);
  } catch {
    // Then the snapshot stays, and is whole.
  }
  collect(folder);
}

/** Best effort: the snapshot is gone, and the next removal takes what is left. */
function collect(folder: string): void {
  try {
    collectMemories(folder);
    new ContentStore(folder).collect();
  } catch {
    // A fault of the disk will show where it matters.
  }
}

/** Builds the wanted files of the snapshot in the folder `target`, and checks them. */
async function build(
  root: string,
  { snapshot, form }: ListedSnapshot,
  target: string,
  progress: JobProgress,
  wantsOf: ((content: LabContent) => (path: string) => boolean) | undefined,
): Promise<LabContent> {
  const folder = join(root, SNAPSHOTS);
  if (form === 'gns3') return unpackSnapshot(gns3Archive(folder, snapshot), target, progress, wantsOf);
  const { topology, tree } = readManifest(folder, snapshot.snapshot_id);
  const content = readLabContent(topology);
  const wants = wantsOf?.(content) ?? (() => true);
  // This server stores no such link: the manifest is damaged or planted.
  for (const { path, target } of tree.links.filter(({ path }) => wants(path))) {
    const fault = linkFault(path, target);
    if (fault !== undefined) throw refusals.linkNotRestored(path, fault);
  }
  new ContentStore(folder).build(tree, target, progress, wants);
  return content;
}

/** As in archives, links that lead out of the project are left out: their targets are no part of a snapshot. */
function leftOutLinks({ name }: Snapshot, paths: readonly string[]): string {
  const one = paths.length === 1;
  const more = paths.length > MOST_NAMED ? ` and ${paths.length - MOST_NAMED} more` : '';
  return (
    `${one ? '1 link is' : `${paths.length} links are`} not in the snapshot '${name}', because ` +
    `${one ? 'it leads' : 'they lead'} out of the project: ${paths.slice(0, MOST_NAMED).join(', ')}${more}. ` +
    'Restoring it removes those that lie in the folders that it gives back'
  );
}

function nodeOf({ nodes }: LabContent, id: string): StoredNode {
  const node = nodes.find(({ node_id }) => node_id === id);
  if (node === undefined) throw refusals.nodeUnknown(id);
  return node;
}
