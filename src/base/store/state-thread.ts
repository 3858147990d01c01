/** The store on the HTTP thread: the state thread carries out every call, in order. */
import { TaskPool } from '../threads/task-pool.js';
import type { Notice } from './journal-opening.js';
import { packChanges, unpackRecords } from './packing.js';
import type { StateTasks } from './state-tasks.js';
import type { Change, Key, Packed, Store, StoredRecord } from './store.js';

const QUEUE_LIMIT = 10_000;

export class StateThread implements Store {
  readonly #pool: TaskPool<StateTasks>;

  constructor(folder: string) {
    const worker = new URL('../../../workers/state-worker.js', import.meta.url);
    this.#pool = new TaskPool({ worker, threads: 1, queueLimit: QUEUE_LIMIT, workerData: { folder } });
  }

  /** Opens the store, as any first call does, and returns messages for the operator. */
  async open(): Promise<readonly Notice[]> {
    return this.#pool.run('open', undefined);
  }

  async commit(changes: readonly Change[]): Promise<void> {
    await this.commitPacked(packChanges(changes));
  }

  async commitPacked(...parts: readonly Packed[]): Promise<void> {
    await this.#pool.run('commit', parts);
  }

  async load(...prefixes: readonly Key[]): Promise<StoredRecord[]> {
    return unpackRecords(await this.loadPacked(...prefixes));
  }

  async loadPacked(...prefixes: readonly Key[]): Promise<Packed> {
    return this.#pool.run('load', prefixes);
  }

  async close(): Promise<void> {
    await this.#pool.run('close', undefined);
    await this.#pool.close();
  }
}
