/** Makes a project from an archive; the job threads run it for the HTTP thread. */
import { mkdirSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { JobProgress } from '../content/job-progress.js';
import { imageTasks } from '../../files/images/image-tasks.js';
import { FIRST_SNAPSHOT } from '../../lab/gns3-file/older/conversion.js';
import { SNAPSHOTS, TEMPORARY } from '../../lab/projects/folder-layout.js';
import { LOCAL_COMPUTE } from '../../lab/gns3-file/topology-schema.js';
import type { TaskTable } from '../../base/threads/task.js';
import { syncFolder } from '../../base/disk/published-file.js';
import type { SavedMemory } from '../../lab/lab-run.js';
import type { SnapshotMemory } from '../known-memories.js';
import { archivedLabFile } from './archived-lab-file.js';
import { ArchivedMemories } from './archived-memories.js';
import { isBelowLeftOut, limitsFor } from './archived-snapshot.js';
import { admitGns3Snapshots, nodeIdsOf } from './copied-snapshots.js';
import { isOfLibrary, placeImages, unpackImages, type PlacedImages } from './imported-images.js';
import { contentOfCopy, pathInCopy, type LabContent } from '../lab-content.js';
import { keepContent } from './staging-tasks.js';
import { unpack, withArchive, type ProjectArchive } from './project-archive.js';

interface UnpackedProject {
  /** The name in the archive. */
  readonly name: string;
  /** Paths of unpacked images in their folder. */
  readonly images: readonly string[];
  readonly warnings: readonly string[];
  /** The memories in its snapshots that this server has saved itself. */
  readonly memories: readonly SnapshotMemory[];
}

export interface ImportTasks extends TaskTable {
  /**
   * Checks the archive, and unpacks it into `stagingFolder`, which is empty, and its images into the new folder `images`.
   * `computes` are the known ids of computes.
   */
  readonly unpackProject: (input: {
    archive: string;
    stagingFolder: string;
    images: string;
    projectId: string;
    computes: readonly string[];
    /** By their digests: no other memory is taken. */
    known: ReadonlyMap<string, SavedMemory>;
    progress: SharedArrayBuffer;
  }) => Promise<UnpackedProject>;
  /** `root` is the images folder. */
  readonly placeImages: (input: { root: string; aside: string; paths: readonly string[] }) => PlacedImages;
  readonly removeImages: (input: { root: string; paths: readonly string[] }) => void;
}

export const importTasks: ImportTasks = {
  unpackProject({ archive: path, stagingFolder, images: aside, projectId, computes, known, ...job }) {
    const progress = new JobProgress(job.progress);
    return withArchive(path, limitsFor(stagingFolder), async (fd, archive) => {
      const content = { ...archive.content, labFile: await archivedLabFile(fd, archive) };
      const isCopy = archive.projectId.toLowerCase() !== projectId.toLowerCase();
      await unpackFiles(fd, archive, { stagingFolder, copyId: isCopy ? projectId : undefined }, progress);
      const images = await unpackImages(fd, archive, aside, progress);
      const memories = await ArchivedMemories.open(fd, archive, known);
      const target = { stagingFolder, projectId, isCopy, memories };
      const warnings = await unpackSnapshots(fd, archive, target, progress);
      keepContent(
        stagingFolder,
        importedContent(isCopy ? contentOfCopy(projectId, content) : content, computes),
      );
      return { name: content.settings.name, images, warnings, memories: memories.taken };
    });
  },

  placeImages({ root, aside, paths }) {
    return placeImages(root, aside, paths);
  },

  removeImages({ root, paths }) {
    for (const path of paths) imageTasks.removeImage({ root, path });
  },
};

async function unpackFiles(
  fd: number,
  archive: ProjectArchive,
  { stagingFolder, copyId }: { readonly stagingFolder: string; readonly copyId: string | undefined },
  progress: JobProgress,
): Promise<void> {
  const nodeIds = nodeIdsOf(archive.content);
  await unpack(
    fd,
    archive,
    stagingFolder,
    (path) => {
      if (isBelowLeftOut(path) || isOfLibrary(path)) return undefined;
      return copyId === undefined ? path : pathInCopy(copyId, nodeIds, path);
    },
    progress,
  );
}

/** Returns warnings about snapshots that were left out. */
async function unpackSnapshots(
  fd: number,
  archive: ProjectArchive,
  target: {
    readonly stagingFolder: string;
    readonly projectId: string;
    readonly isCopy: boolean;
    readonly memories: ArchivedMemories;
  },
  progress: JobProgress,
): Promise<string[]> {
  const { projectId, isCopy, memories } = target;
  const folder = join(target.stagingFolder, SNAPSHOTS);
  const aside = join(target.stagingFolder, TEMPORARY, SNAPSHOTS);
  mkdirSync(folder);
  const members = archive.members.filter(({ kind, path }) => kind === 'file' && isOfSnapshot(path));
  if (members.length === 0) return [];
  const placeOf = (path: string): string => path.slice(`${SNAPSHOTS}/`.length);
  await unpack(fd, { ...archive, members }, aside, placeOf, progress);
  const workFolder = join(target.stagingFolder, TEMPORARY, 'snapshot');
  const warnings = await admitGns3Snapshots(
    aside,
    projectId,
    { ...target, folder, workFolder },
    progress,
    (snapshot) => memories.ranOf(projectId, isCopy, snapshot),
  );
  await memories.unpackInto(folder, fd, archive, progress);
  rmSync(aside, { recursive: true });
  syncFolder(folder);
  return [...warnings, ...memories.warnings];
}

/** Archives, the index, and the files of snapshots of GNS3 1. */
function isOfSnapshot(path: string): boolean {
  const [top, name = '', ...rest] = path.split('/');
  return top === SNAPSHOTS && (rest.length === 0 || FIRST_SNAPSHOT.test(name));
}

/** Nodes of unknown computes are assigned to this server. */
function importedContent(content: LabContent, known: readonly string[]): LabContent {
  const computeOf = (id: string): string => (known.includes(id) ? id : LOCAL_COMPUTE);
  const isKnown = (compute: unknown): boolean =>
    typeof compute === 'object' &&
    compute !== null &&
    'compute_id' in compute &&
    known.includes(String(compute.compute_id));
  return {
    ...content,
    settings: { ...content.settings, auto_open: false, auto_start: false, auto_close: true },
    computes: content.computes.filter(isKnown),
    nodes: content.nodes.map((node) => ({ ...node, compute_id: computeOf(node.compute_id) })),
  };
}
