/**
 * `on_close: save_vm_state`, and the end of a lab whose time is over: a guest that is stopped goes on at the next start. Its memory lies beside its disks. It is
 * loaded once, and only when it and the files of the machine are as they were.
 */
import { FairTurns } from '../../../base/threads/fair-turns.js';
import { messageOf, refusals } from '../../../base/errors/errors.js';
import type { KeptMemory } from '../../../lab/lab-run.js';
import type { ComputeFiles } from '../../files.js';
import type { SavedStates } from '../../saved-states.js';
import type { MachineNode, NodeHost, RunMemory } from '../machine.js';

interface SavedMemoriesOptions {
  readonly files: ComputeFiles;
  readonly states: SavedStates;
}

/** The node of a machine. */
type Owner = Pick<MachineNode, 'folder' | 'home' | 'id' | 'name'>;

type Listener = Pick<NodeHost, 'warn'>;

/** As many as the threads through which memory passes: other guests go on meanwhile. */
const AT_ONCE = 2;
const MOST_WAITING = 10_000;

export class SavedMemories {
  readonly #options: SavedMemoriesOptions;
  readonly #turns = new FairTurns({
    ...{ atOnce: AT_ONCE, atOnceOfOne: AT_ONCE },
    ...{ mostWaiting: MOST_WAITING, mostWaitingOfOne: MOST_WAITING },
  });

  constructor(options: SavedMemoriesOptions) {
    this.#options = options;
  }

  /**
   * Saves the memory of a guest that is about to be ended, and remembers the files of its machine as they are then. Warns
   * when that is not possible.
   */
  async save(node: Owner, memory: RunMemory, machineFiles: readonly string[], host: Listener): Promise<void> {
    const { home, name } = node;
    try {
      await this.#turns.run(home.id, () => this.#save(node, memory, machineFiles));
    } catch (error) {
      const { message } = refusals.memoryNotSaved(name, messageOf(error));
      host.warn(`${message}. The node was powered off`);
    }
  }

  /** The memory with which the node goes on. Warns of one that is there and cannot be loaded. */
  async find(node: Owner, host: Listener): Promise<KeptMemory | undefined> {
    const { files, states } = this.#options;
    const { home, folder, id, name } = node;
    const state = await states.find(home.id, id);
    const place = { root: home.folder, folder };
    const found = await files.run('findMemory', { ...place, files: state?.files ?? {} });
    if (state === undefined && found.path === undefined) return undefined;
    const fault = state === undefined ? 'this server has not saved it' : found.fault;
    if (state !== undefined && found.path !== undefined && fault === undefined)
      return { ...state, path: found.path };
    const { message } = refusals.memoryNotLoaded(name, fault ?? 'its file is missing');
    host.warn(`${message}. The node starts anew`);
    await this.forget(node);
    return undefined;
  }

  /** Call before the guest goes on: a memory does not fit disks that have changed since. */
  async forget({ home, folder, id }: Owner): Promise<void> {
    const { files, states } = this.#options;
    await states.forget(home.id, id);
    await files.run('dropMemory', { root: home.folder, folder });
  }

  async #save(node: Owner, memory: RunMemory, machineFiles: readonly string[]): Promise<void> {
    const { files, states } = this.#options;
    const { home, folder, id } = node;
    const made = await files.run('newDiskPath', { root: home.folder });
    try {
      await memory.pause();
      const saved = await memory.save(made);
      const place = { root: home.folder, folder, made };
      const versions = await files.run('placeMemory', { ...place, files: machineFiles });
      await states.keep(home.id, id, { ...saved, parts: [...saved.parts], files: versions });
    } catch (error) {
      await files.run('removeDisk', { path: made }).catch(() => undefined);
      throw error;
    }
  }
}
