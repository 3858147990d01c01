/**
 * The swap of a project's content: while nothing else changes the project or files of its folder, it gets other
 * content, together with files that lie ready in the folder.
 */
import { refusals } from '../../base/errors/errors.js';
import type { Packed } from '../../base/store/store.js';
import type { Topology } from '../topology/topology.js';
import type { FolderSwap } from './folder-swap.js';
import type { NewContent, ProjectState } from './project-state.js';
import { keysOf } from './records.js';
import type { Transaction } from './transaction.js';

export class ContentSwap {
  readonly #state: ProjectState;
  readonly #gate: FolderGate;

  constructor(state: ProjectState, gate: FolderGate) {
    this.#state = state;
    this.#gate = gate;
  }

  /** Hands the records of one moment to `work`. The project and its files stay the same while it runs. */
  still<Result>(work: (records: Packed) => Promise<Result>): Promise<Result> {
    const { id, services } = this.#state;
    return this.#alone(async () => {
      await this.#state.reconcile();
      return work(await services.store.loadPacked(...keysOf(id)));
    });
  }

  /** Readers see the old content until the new content runs. `announce` is called then. Returns the project's text. */
  replaceContent(content: NewContent, announce: () => void): Promise<string> {
    const state = this.#state;
    return this.#alone(async () => {
      await state.checkSwap(content.swap);
      await state.topology.unload('removed');
      let givenUp: string | undefined;
      try {
        await state.replaceContent(content);
      } catch (error) {
        await state.load();
        throw error;
      }
      try {
        givenUp = await state.finishSwap();
        await state.load();
      } catch (error) {
        state.drop();
        throw state.isSwapping ? unfinished(error) : error;
      } finally {
        state.publish(state.isOpen ? 'opened' : 'closed');
      }
      if (givenUp !== undefined) throw refusals.exchangeGivenUp(givenUp);
      announce();
      return state.text;
    });
  }

  /** Changes the content of the open project by a transaction, together with files. */
  changeWithFiles<Result>(
    swap: FolderSwap,
    work: (topology: Topology, transaction: Transaction) => Result,
  ): Promise<Result> {
    const state = this.#state;
    return this.#gate.alone(async () => {
      await this.#finish();
      await state.checkSwap(swap);
      const result = await state.changeContent((topology, transaction) => {
        state.beginSwap(transaction, swap);
        return work(topology, transaction);
      });
      const givenUp = await this.#finish().catch((error: unknown) => {
        throw unfinished(error);
      });
      if (givenUp !== undefined) throw refusals.exchangeGivenUp(givenUp);
      return result;
    });
  }

  /** Takes first the gate, then the lane. The other order somewhere else would be a deadlock. */
  #alone<Result>(work: () => Promise<Result>): Promise<Result> {
    return this.#gate.alone(async () => {
      await this.#finish();
      return this.#state.exclusively(work);
    });
  }

  /** Before anything else, finishes a swap that a fault has interrupted: only one swap is remembered. */
  #finish(): Promise<string | undefined> {
    return this.#state.exclusively(() => this.#state.finishSwap());
  }
}

/** The new content is stored, and its files follow when the project is opened: the client must not think that nothing happened. */
function unfinished(error: unknown): Error {
  return refusals.exchangeUnfinished(error instanceof Error ? error.message : String(error));
}

/**
 * Decides who may change files of the project when: any number of writers at once, each for the moment in which its
 * file takes its place, or one that needs the folder as it is. One that waits for the folder goes before writers that
 * come later. A writer must not wait for anything but the disk.
 */
export class FolderGate {
  #writers = 0;
  /** Settles when the last that has the folder to itself, or waits for it, is done. */
  #alone: Promise<void> | undefined;
  #onQuiet: (() => void) | undefined;

  /** Runs work that changes files. */
  async pass<Result>(work: () => Promise<Result>): Promise<Result> {
    while (this.#alone !== undefined) await this.#alone;
    this.#writers++;
    try {
      return await work();
    } finally {
      this.#writers--;
      if (this.#writers === 0) this.#onQuiet?.();
    }
  }

  /** Runs work while no file changes. */
  async alone<Result>(work: () => Promise<Result>): Promise<Result> {
    while (this.#alone !== undefined) await this.#alone;
    let open = (): void => undefined;
    this.#alone = new Promise((resolve) => {
      open = resolve;
    });
    try {
      if (this.#writers > 0) {
        await new Promise<void>((resolve) => {
          this.#onQuiet = resolve;
        });
      }
      return await work();
    } finally {
      this.#onQuiet = undefined;
      this.#alone = undefined;
      open();
    }
  }
}
