/**
 * The nodes whose programs run, as the store knows them: after the death of the server or a reboot they run again. A
 * node that ran at two deaths in a row, and only for a short time before the second, may be their cause and does not.
 */
import type { Logger } from 'pino';
import { z } from 'zod';
import type { Change, Key, Store } from '../base/store/store.js';

const RECORDS: Key = ['running'];
/** A node that has run for so long has not caused the death. */
const LONG_ENOUGH_MS = 10 * 60 * 1000;
const MOST_DEATHS = 2;

const record = z.record(z.string(), z.object({ deaths: z.int(), since: z.number().nullable() }));

interface RunningNode {
  /** How often in a row the server died soon after the node had begun to run. */
  readonly deaths: number;
  /** When it began to run; null when the server has ended in order since. */
  readonly since: number | null;
}

/** By the id of the node. */
type Nodes = Map<string, RunningNode>;

interface RunningNodesOptions {
  readonly store: Pick<Store, 'commit' | 'load'>;
  readonly log: Logger;
  readonly now: () => number;
}

export class RunningNodes {
  readonly #options: RunningNodesOptions;
  /** The nodes that run and those that shall run again, by the id of their project. */
  readonly #projects = new Map<string, Nodes>();
  /** The nodes that ran when the last server ended, by the id of the project; until it has opened. */
  readonly #before = new Map<string, Set<string>>();
  readonly #unwritten = new Set<string>();
  #written: Promise<void> = Promise.resolve();
  #isClosed = false;

  constructor(options: RunningNodesOptions) {
    this.#options = options;
  }

  async start(): Promise<void> {
    const { store, now } = this.#options;
    for (const { key, value } of await store.load(RECORDS)) {
      const projectId = key[1] ?? '';
      const found = record.safeParse(value).data ?? {};
      const nodes: Nodes = new Map();
      for (const [id, { deaths, since }] of Object.entries(found)) {
        const hasLastedLong = since !== null && now() - since > LONG_ENOUGH_MS;
        const died = since === null ? 0 : 1 + (hasLastedLong ? 0 : deaths);
        nodes.set(id, { deaths: died, since: now() });
      }
      this.#projects.set(projectId, nodes);
      this.#before.set(projectId, new Set(nodes.keys()));
      this.#unwritten.add(projectId);
    }
    this.#write();
    // Before any of them runs: the next death counts them.
    await this.written();
  }

  /**
   * Whether a node that is being made ran when the last server ended, and shall run again: 'suspected' when the server
   * died again and again while it ran. Only the first call of a node tells.
   */
  shouldRun(projectId: string, nodeId: string): boolean | 'suspected' {
    if (this.#before.get(projectId)?.delete(nodeId) !== true) return false;
    const { deaths = 0 } = this.#projects.get(projectId)?.get(nodeId) ?? {};
    if (deaths < MOST_DEATHS) return true;
    this.changed(projectId, nodeId, false);
    return 'suspected';
  }

  /** Forgets nodes of projects that did not open with the server. */
  forgetRest(): void {
    for (const [projectId, ids] of this.#before) {
      for (const nodeId of ids) this.changed(projectId, nodeId, false);
    }
    this.#before.clear();
  }

  /** The nodes that run, with their projects. */
  *all(): Iterable<readonly [projectId: string, nodeId: string]> {
    for (const [projectId, nodes] of this.#projects)
      for (const nodeId of nodes.keys()) yield [projectId, nodeId];
  }

  hasNodesOf(projectId: string): boolean {
    return this.#projects.has(projectId);
  }

  changed(projectId: string, nodeId: string, isRunning: boolean): void {
    if (this.#isClosed) return;
    const nodes = this.#projects.get(projectId) ?? new Map<string, RunningNode>();
    if (isRunning === nodes.has(nodeId)) return;
    if (isRunning) nodes.set(nodeId, { deaths: 0, since: this.#options.now() });
    else nodes.delete(nodeId);
    if (nodes.size === 0) this.#projects.delete(projectId);
    else this.#projects.set(projectId, nodes);
    this.#unwritten.add(projectId);
    this.#write();
  }

  /** Call when the server is told to end, before projects are closed: what runs now runs again. */
  async close(): Promise<void> {
    this.#isClosed = true;
    for (const [projectId, nodes] of this.#projects) {
      for (const id of nodes.keys()) nodes.set(id, { deaths: 0, since: null });
      this.#unwritten.add(projectId);
    }
    this.#write();
    await this.written();
  }

  /** Resolves when everything until now is in the store, or could not be written. */
  written(): Promise<void> {
    return this.#written;
  }

  /** Writes that wait become one. */
  #write(): void {
    this.#written = this.#written.then(() => this.#writeAll());
  }

  async #writeAll(): Promise<void> {
    if (this.#unwritten.size === 0) return;
    const { store, log } = this.#options;
    const changes = [...this.#unwritten].map((projectId): Change => {
      const nodes = this.#projects.get(projectId);
      const key = [...RECORDS, projectId];
      return nodes === undefined ? { remove: key } : { put: key, value: Object.fromEntries(nodes) };
    });
    this.#unwritten.clear();
    await store.commit(changes).catch((error: unknown) => {
      log.warn({ err: error }, 'the store cannot remember which nodes run');
    });
  }
}
