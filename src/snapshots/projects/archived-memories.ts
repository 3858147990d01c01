/** The memory of nodes in archives of projects: an index, and a file for each memory. Runs in job threads. */
import { linkSync } from 'node:fs';
import { join } from 'node:path';
import { z } from 'zod';
import { messageOf } from '../../base/errors/errors.js';
import { uuid } from '../../lab/gns3-file/topology-schema.js';
import type { RanNode, SavedMemory } from '../../lab/lab-run.js';
import { SNAPSHOTS } from '../../lab/projects/folder-layout.js';
import { savedMemory } from '../../lab/saved-memory.js';
import { readSmallMember } from '../archives/zip-content.js';
import type { PlannedMember } from '../archives/zip-plan.js';
import { readManifest } from '../content/manifest.js';
import type { JobProgress } from '../content/job-progress.js';
import type { JobPlace } from '../job-place.js';
import type { SnapshotMemory } from '../known-memories.js';
import { idInCopy, readLabContent } from '../lab-content.js';
import { keptMemory, MEMORY } from '../memory-place.js';
import type { Snapshot } from '../snapshot.js';
import { plannedText, ROOT } from './planned-files.js';
import { unpack, type ProjectArchive } from './project-archive.js';

const FOLDER = `${SNAPSHOTS}/${MEMORY}`;
const INDEX = `${FOLDER}/ran.json`;
const LARGEST_INDEX = 16 * 1024 * 1024;
const MODE = 0o600;

/** The nodes that ran in snapshots, by the names of their archives. */
const ranIndex = z.record(
  z.string(),
  z.array(z.object({ node_id: uuid, isSuspended: z.boolean(), memory: savedMemory.optional() })),
);

/** Plans the members for the known memories of these snapshots. Adds a warning for each that is not there. */
export function plannedMemories(
  { root, workFolder }: JobPlace,
  snapshots: readonly Snapshot[],
  known: readonly SnapshotMemory[],
  warnings: string[],
): PlannedMember[] {
  const index: Record<string, RanNode[]> = {};
  const members = snapshots.flatMap(
    ({ snapshot_id: id, filename, name, created_at: time }): PlannedMember[] => {
      const modifiedMs = time * 1000;
      const own = known.filter(({ snapshotId }) => snapshotId === id);
      if (own.length === 0) return [];
      const { ran = [] } = readLabContent(readManifest(join(root, SNAPSHOTS), id).topology);
      index[filename] = ran.map((node) => ({
        ...node,
        memory: own.find(({ nodeId }) => nodeId === node.node_id)?.memory,
      }));
      return own.flatMap(({ nodeId, memory }): PlannedMember[] => {
        const kept = `${id}-${nodeId}`;
        try {
          linkSync(keptMemory(root, id, nodeId, memory).path, join(workFolder, kept));
        } catch (error) {
          warnings.push(
            `Could not export the memory of ${nodeId} in the snapshot ${name}: ${messageOf(error)}`,
          );
          return [];
        }
        const content = { file: { root: ROOT.work, path: kept } };
        const path = `${FOLDER}/${filename}/${nodeId}`;
        const { size, digest: version } = memory;
        return [{ path, kind: 'file', mode: MODE, modifiedMs, content, size, version }];
      });
    },
  );
  return members.length === 0 ? [] : [...members, plannedText(INDEX, JSON.stringify(index))];
}

/** Takes in the memories of an archive that this server has saved itself. */
export class ArchivedMemories {
  readonly warnings: string[] = [];
  readonly taken: SnapshotMemory[] = [];
  readonly #index: z.infer<typeof ranIndex>;
  readonly #known: ReadonlyMap<string, SavedMemory>;
  /** The places of members, by their paths. */
  readonly #places = new Map<string, string>();

  /** Anybody may have made the archive: only digests are taken from its index. */
  static async open(
    fd: number,
    { members }: ProjectArchive,
    known: ReadonlyMap<string, SavedMemory>,
  ): Promise<ArchivedMemories> {
    const index = members.find(({ path, kind }) => path === INDEX && kind === 'file');
    if (index === undefined) return new ArchivedMemories({}, known);
    const text = (await readSmallMember(fd, index, LARGEST_INDEX)).toString('utf8');
    return new ArchivedMemories(readIndex(text), known);
  }

  private constructor(index: z.infer<typeof ranIndex>, known: ReadonlyMap<string, SavedMemory>) {
    this.#index = index;
    this.#known = known;
  }

  /** The nodes of a snapshot that run again when it is restored. Each of the others is a warning. */
  ranOf(projectId: string, isCopy: boolean, { filename, name, snapshot_id: id }: Snapshot): RanNode[] {
    const snapshotId = idInCopy(projectId, id);
    return (this.#index[filename] ?? []).flatMap((node): RanNode[] => {
      if (node.memory === undefined) return [node];
      const memory = this.#known.get(node.memory.digest);
      if (isCopy || memory === undefined) {
        const reason = isCopy
          ? 'a project with another id has other machines'
          : 'this server has not saved it';
        this.warnings.push(`The memory of ${node.node_id} in the snapshot '${name}' was left out: ${reason}`);
        return [];
      }
      this.#places.set(`${FOLDER}/${filename}/${node.node_id}`, join(snapshotId, node.node_id));
      this.taken.push({ snapshotId, nodeId: node.node_id, memory });
      return [{ ...node, memory }];
    });
  }

  /** Unpacks what `ranOf` has taken into the folder of the snapshots. */
  async unpackInto(
    folder: string,
    fd: number,
    archive: ProjectArchive,
    progress: JobProgress,
  ): Promise<void> {
    if (this.#places.size === 0) return;
    const members = archive.members.filter(({ kind, path }) => kind === 'file' && this.#places.has(path));
    const target = join(folder, MEMORY);
    await unpack(fd, { ...archive, members }, target, (path) => this.#places.get(path), progress);
  }
}

function readIndex(text: string): z.infer<typeof ranIndex> {
  try {
    return ranIndex.safeParse(JSON.parse(text)).data ?? {};
  } catch {
    return {};
  }
}
