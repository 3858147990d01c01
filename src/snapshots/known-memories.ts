/**
 * The saved memories that the store knows; no other is loaded. It knows that of a snapshot until the snapshot is deleted, and
 * what was exported by its digest.
 */
import { z } from 'zod';
import type { Change, Key, Store } from '../base/store/store.js';
import type { SavedMemory } from '../lab/lab-run.js';
import { headKey } from '../lab/projects/records.js';
import { savedMemory } from '../lab/saved-memory.js';

/** The memory of a node in a snapshot. */
export interface SnapshotMemory {
  readonly snapshotId: string;
  readonly nodeId: string;
  readonly memory: SavedMemory;
}

const EXPORTED: Key = ['exported-memory'];
/** Beyond so many, those that were exported longest ago are forgotten. */
const MOST_EXPORTED = 10_000;
const exportedRecord = z.object({ digest: z.string(), exportedAt: z.number().default(0) });

export class KnownMemories {
  readonly #store: Pick<Store, 'commit' | 'load'>;

  constructor(store: Pick<Store, 'commit' | 'load'>) {
    this.#store = store;
  }

  /** Without the id of a snapshot, those of all of them. */
  async of(projectId: string, snapshotId?: string): Promise<SnapshotMemory[]> {
    const key = snapshotId === undefined ? keyOf(projectId) : keyOf(projectId, snapshotId);
    return (await this.#store.load(key)).flatMap((record): SnapshotMemory[] => {
      const [snapshot, node] = record.key.slice(-2);
      const { data: memory } = savedMemory.safeParse(record.value);
      if (snapshot === undefined || node === undefined || memory === undefined) return [];
      return [{ snapshotId: snapshot, nodeId: node, memory }];
    });
  }

  async keep(projectId: string, memories: readonly SnapshotMemory[]): Promise<void> {
    const changes = memories.map(({ snapshotId, nodeId, memory }): Change => ({
      put: [...keyOf(projectId, snapshotId), nodeId],
      value: memory,
    }));
    if (changes.length > 0) await this.#store.commit(changes);
  }

  /** Call when the snapshot is gone, or could not be made. */
  async forget(projectId: string, snapshotId: string): Promise<void> {
    const key = keyOf(projectId, snapshotId);
    if ((await this.#store.load(key)).length > 0) await this.#store.commit([{ clear: key }]);
  }

  /** By digest. */
  async exported(): Promise<ReadonlyMap<string, SavedMemory>> {
    const records = await this.#store.load(EXPORTED);
    const memories = records.flatMap(({ value }) => savedMemory.safeParse(value).data ?? []);
    return new Map(memories.map((memory) => [memory.digest, memory]));
  }

  /** These can be imported again, also when their project has been deleted. */
  async keepExported(memories: readonly SnapshotMemory[]): Promise<void> {
    const exportedAt = Date.now();
    const kept = new Map(
      memories.slice(0, MOST_EXPORTED).map(({ memory }) => [memory.digest, { ...memory, exportedAt }]),
    );
    if (kept.size === 0) return;
    const others = (await this.#store.load(EXPORTED))
      .flatMap(({ value }) => exportedRecord.safeParse(value).data ?? [])
      .filter(({ digest }) => !kept.has(digest))
      .sort((a, b) => b.exportedAt - a.exportedAt);
    await this.#store.commit([
      ...others
        .slice(MOST_EXPORTED - kept.size)
        .map(({ digest }): Change => ({ remove: [...EXPORTED, digest] })),
      ...[...kept].map(([digest, value]): Change => ({ put: [...EXPORTED, digest], value })),
    ]);
  }
}

function keyOf(projectId: string, ...snapshot: string[]): Key {
  return [...headKey(projectId), 'memory', ...snapshot];
}
