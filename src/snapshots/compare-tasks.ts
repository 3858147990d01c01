/** Compares a project with a snapshot; the job threads run it for the HTTP thread. */
import { join } from 'node:path';
import { isDeepStrictEqual } from 'node:util';
import type { ContentTree, StoredFile } from './content/content-tree.js';
import { JobProgress } from './content/job-progress.js';
import { readManifest } from './content/manifest.js';
import { sourceDigest } from './content/source-reading.js';
import { freezeFiles, type FrozenFile, type FrozenTree } from './content/frozen-tree.js';
import { SNAPSHOTS } from '../lab/projects/folder-layout.js';
import type { TaskTable } from '../base/threads/task.js';
import type { Packed } from '../base/store/store.js';
import { unpackSnapshot } from './projects/archived-snapshot.js';
import { gns3Archive } from './projects/gns3-snapshots.js';
import { contentOfRecords, readLabContent, type LabContent } from './lab-content.js';
import type { SnapshotPlace } from './snapshot-tasks.js';
import type { JobPlace } from './job-place.js';
import { readFrozen } from './freeze-tasks.js';

/** Ids of things of one kind, or paths of files. */
interface Changes {
  readonly added: readonly string[];
  readonly removed: readonly string[];
  readonly changed: readonly string[];
}

/** The differences of the project now from the snapshot. */
export interface Comparison {
  /** The names of changed settings. */
  readonly settings: readonly string[];
  readonly nodes: Changes;
  readonly links: Changes;
  readonly drawings: Changes;
  readonly files: Changes;
}

export interface CompareTasks extends TaskTable {
  /** Reads the files that `freezeProject` has kept in the work folder. */
  readonly compareSnapshot: (
    input: SnapshotPlace & JobPlace & { records: Packed; progress: SharedArrayBuffer },
  ) => Promise<Comparison>;
}

/** A restore leaves these settings alone, so they count as no difference. */
const OF_THE_PROJECT = ['name', 'auto_start', 'auto_open', 'auto_close'];

export const compareTasks: CompareTasks = {
  async compareSnapshot({ listed: { snapshot, form }, records, progress: memory, ...place }) {
    const { root, workFolder } = place;
    const folder = join(root, SNAPSHOTS);
    const progress = new JobProgress(memory);
    const now = contentOfRecords(snapshot.project_id, records);
    const frozen = readFrozen(place);
    if (form === 'gns3') {
      const unpacked = join(workFolder, 'then');
      const then = await unpackSnapshot(gns3Archive(folder, snapshot), unpacked, progress, undefined);
      return comparison(then, now, unpackedFiles(unpacked), frozen, progress);
    }
    const { topology, tree } = readManifest(folder, snapshot.snapshot_id);
    // A snapshot of the topology alone has no files to differ from.
    const seen = form === 'topology' ? { ...frozen, files: [] } : frozen;
    return comparison(readLabContent(topology), now, storedFiles(tree), seen, progress);
  },
};

/** A file in the snapshot. */
interface EarlierFile {
  readonly size: number;
  readonly version: string | undefined;
  /** Undefined if it is not known: then a file of another version counts as changed. */
  readonly digest: (progress: JobProgress) => string | undefined;
}

function comparison(
  then: LabContent,
  now: LabContent,
  files: ReadonlyMap<string, EarlierFile>,
  frozen: FrozenTree,
  progress: JobProgress,
): Comparison {
  return {
    settings: settingsChanged(then, now),
    nodes: compareObjects(then.nodes, now.nodes, ({ node_id }) => node_id),
    links: compareObjects(withDirections(then), withDirections(now), ({ link_id }) => link_id),
    drawings: compareObjects(then.drawings, now.drawings, ({ drawing_id }) => drawing_id),
    files: compareFiles(files, frozen.files, progress),
  };
}

function settingsChanged(then: LabContent, now: LabContent): string[] {
  const before = new Map<string, unknown>(Object.entries(then.settings));
  return Object.entries(now.settings)
    .filter(([name, value]) => !OF_THE_PROJECT.includes(name) && !isDeepStrictEqual(before.get(name), value))
    .map(([name]) => name);
}

/** The filters of each direction are a part of their link. */
function withDirections({ links, directed }: LabContent): { link_id: string; all: unknown }[] {
  const byLink = new Map(directed.map((filters) => [filters.link_id, filters]));
  return links.map((link) => ({ link_id: link.link_id, all: [link, byLink.get(link.link_id)] }));
}

function compareObjects<Object>(
  then: readonly Object[],
  now: readonly Object[],
  idOf: (object: Object) => string,
): Changes {
  const before = new Map(then.map((object) => [idOf(object), object]));
  const after = new Map(now.map((object) => [idOf(object), object]));
  return {
    added: [...after.keys()].filter((id) => !before.has(id)),
    removed: [...before.keys()].filter((id) => !after.has(id)),
    changed: [...after].flatMap(([id, object]) => {
      return before.has(id) && !isDeepStrictEqual(before.get(id), object) ? [id] : [];
    }),
  };
}

function compareFiles(
  then: ReadonlyMap<string, EarlierFile>,
  now: readonly FrozenFile[],
  progress: JobProgress,
): Changes {
  const after = new Set(now.map(({ path }) => path));
  return {
    added: now.filter(({ path }) => !then.has(path)).map(({ path }) => path),
    removed: [...then.keys()].filter((path) => !after.has(path)),
    changed: now.flatMap((file) => {
      const before = then.get(file.path);
      return before !== undefined && isChanged(before, file, progress) ? [file.path] : [];
    }),
  };
}

function isChanged(
  before: EarlierFile,
  { path, size, version, source }: FrozenFile,
  progress: JobProgress,
): boolean {
  if (before.size !== size) return true;
  if (before.version === version || size === 0 || source === undefined) return false;
  progress.expect(size);
  return before.digest(progress) !== sourceDigest(source, path, progress);
}

function storedFiles({ files }: ContentTree): Map<string, EarlierFile> {
  return new Map(
    files.map(({ path, size, version, digest }: StoredFile) => [
      path,
      { size, version, digest: () => digest },
    ]),
  );
}

function unpackedFiles(folder: string): Map<string, EarlierFile> {
  const { files } = freezeFiles(folder, `${folder}.held`, {
    isLeftOut: () => false,
    known: () => undefined,
    limit: Infinity,
  });
  return new Map(
    files.map(({ path, size }) => [
      path,
      { size, version: undefined, digest: (progress) => sourceDigest(join(folder, path), path, progress) },
    ]),
  );
}
