/**
 * The memory of machines that was saved when their nodes were stopped, as the store knows it. The files lie beside the disks,
 * where clients write: a memory counts only with its record here.
 */
import { z } from 'zod';
import type { Store } from '../base/store/store.js';
import { savedStatesKey } from '../lab/projects/records.js';
import { savedMemory } from '../lab/saved-memory.js';

const savedState = savedMemory.extend({
  /** The versions of the files of the machine by their paths, which are relative in the folder of the node. */
  files: z.record(z.string(), z.string()),
});

type SavedState = z.infer<typeof savedState>;

export class SavedStates {
  readonly #store: Pick<Store, 'commit' | 'load'>;

  constructor(store: Pick<Store, 'commit' | 'load'>) {
    this.#store = store;
  }

  async find(projectId: string, nodeId: string): Promise<SavedState | undefined> {
    const [record] = await this.#store.load([...savedStatesKey(projectId), nodeId]);
    return savedState.safeParse(record?.value).data;
  }

  keep(projectId: string, nodeId: string, state: SavedState): Promise<void> {
    return this.#store.commit([{ put: [...savedStatesKey(projectId), nodeId], value: state }]);
  }

  async forget(projectId: string, nodeId: string): Promise<void> {
    const key = [...savedStatesKey(projectId), nodeId];
    if ((await this.#store.load(key)).length > 0) await this.#store.commit([{ remove: key }]);
  }
}
