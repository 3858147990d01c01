/**
 * Keeps a project's topology file and the store the same: writes the file after a quiet moment and on demand,
 * and takes over what another program wrote while the project was closed. The digest of a file is stored before
 * the file gets its name, so a file of ours is recognised after a crash, too.
 */
import type { Logger } from 'pino';
import type { Packed, Store } from '../../base/store/store.js';
import type { TaskRunner } from '../../base/threads/task-pool.js';
import { fileKey, keysOf, type FileRecord } from '../projects/records.js';
import type { ImportedProject } from './reading.js';
import type { Gns3Tasks, Inspection } from './tasks.js';

const QUIET_MS = 1000;
const LONGEST_WAIT_MS = 5000;
/** A file older than this many writes counts as another program's when it is put back. */
const REMEMBERED_DIGESTS = 128;

/** Keeps the records of a project as a snapshot of this name, without files. False when there are no records. */
export type KeepState = (input: {
  /** The project's folder. */
  readonly root: string;
  readonly projectId: string;
  readonly records: Packed;
  readonly name: string;
}) => Promise<boolean>;

export interface Gns3Place {
  readonly folder: string;
  readonly filename: string;
}

interface Gns3MirrorOptions {
  readonly projectId: string;
  readonly store: Store;
  readonly files: TaskRunner<Gns3Tasks>;
  readonly gns3Version: string;
  readonly log: Logger;
  readonly record: FileRecord;
  readonly place: () => Gns3Place;
  readonly keepState: KeepState;
  /** Called when another program's version of the file was kept as a copy. */
  readonly onKept: (path: string) => void;
}

interface TakenOver {
  readonly imported: ImportedProject;
  /** The name of the snapshot of the state before, if one was made. */
  readonly keptAs: string | undefined;
}

export class Gns3Mirror {
  readonly #options: Gns3MirrorOptions;
  #record: FileRecord;
  #timer: NodeJS.Timeout | undefined;
  #waitingSince = 0;
  #isWanted = false;
  #writing: Promise<void> | undefined;

  constructor(options: Gns3MirrorOptions) {
    this.#options = options;
    this.#record = options.record;
  }

  /** Writes the file when no more changes come for a while. To be called after each stored change. */
  schedule(): void {
    const now = performance.now();
    if (!this.#isWanted) this.#waitingSince = now;
    this.#isWanted = true;
    const wait = Math.min(QUIET_MS, Math.max(0, this.#waitingSince + LONGEST_WAIT_MS - now));
    this.#wait(wait);
  }

  /** Writes the file now if a change waits for it. */
  async flush(): Promise<void> {
    clearTimeout(this.#timer);
    while (this.#writing !== undefined) await this.#writing;
    if (!this.#isWanted) return;
    this.#isWanted = false;
    this.#writing = this.#write().finally(() => {
      this.#writing = undefined;
    });
    try {
      await this.#writing;
    } catch (error) {
      this.#isWanted = true;
      throw error;
    }
  }

  /** Like `flush`, but a failure is logged and the file tried again later: the store has everything. */
  async flushOrRetry(): Promise<void> {
    try {
      await this.flush();
    } catch (error) {
      this.#options.log.error({ err: error }, 'the topology file could not be written; trying again');
      this.#wait(LONGEST_WAIT_MS);
    }
  }

  /**
   * Takes over the file if another program wrote it, and keeps the state before as a snapshot. Returns undefined when
   * there is nothing to take over. `order` is the project's place in lists.
   */
  async takeOver(order: number): Promise<TakenOver | undefined> {
    const { store } = this.#options;
    const inspection = await this.#inspect(order);
    if (inspection.found === 'missing' || inspection.found === 'older') this.schedule();
    if (inspection.found !== 'outside') return undefined;
    const { imported } = inspection;
    const keptAs = await this.#keepBefore();
    await store.commitPacked(imported.changes);
    await this.cancel();
    this.#record = imported.file;
    return { imported, keptAs };
  }

  /** Ends all writing; nothing may be scheduled afterwards. */
  async cancel(): Promise<void> {
    clearTimeout(this.#timer);
    this.#isWanted = false;
    await this.#writing?.catch(() => undefined);
  }

  /** Returns the name of the snapshot; undefined when there is nothing to keep. */
  async #keepBefore(): Promise<string | undefined> {
    const { projectId, store, place, keepState } = this.#options;
    const records = await store.loadPacked(...keysOf(projectId));
    const name = timedName('before-outside-edit');
    return (await keepState({ root: place().folder, projectId, records, name })) ? name : undefined;
  }

  /** A file that cannot be read is left as it is, so that its author can repair it. */
  async #inspect(order: number): Promise<Inspection> {
    const { files, place } = this.#options;
    try {
      return await files.run('inspectTopology', { ...place(), ...this.#record, order });
    } catch (error) {
      await this.cancel();
      throw error;
    }
  }

  #wait(milliseconds: number): void {
    clearTimeout(this.#timer);
    this.#timer = setTimeout(() => void this.flushOrRetry(), milliseconds);
  }

  async #write(): Promise<void> {
    const { projectId, store, files, gns3Version } = this.#options;
    const staged = await files.run('stageTopology', {
      ...this.#options.place(),
      projectId,
      gns3Version,
      digests: this.#record.digests,
      records: await store.loadPacked(...keysOf(projectId)),
      keptName: `${timedName('outside-edit')}.gns3`,
    });
    if (staged.keptAs !== undefined) this.#options.onKept(staged.keptAs);
    if (staged.file === undefined) {
      await this.#remember({ ...this.#record, stamp: staged.stamp, version: staged.version });
      return;
    }
    try {
      const digests = [...this.#record.digests, staged.digest].slice(-REMEMBERED_DIGESTS);
      await this.#remember({ ...this.#record, digests });
    } catch (error) {
      await files.run('discardTopology', staged.file);
      throw error;
    }
    const stamp = await files.run('publishTopology', staged.file);
    await this.#remember({ ...this.#record, stamp, version: staged.version });
  }

  async #remember(record: FileRecord): Promise<void> {
    await this.#options.store.commit([{ put: fileKey(this.#options.projectId), value: record }]);
    this.#record = record;
  }
}

/** A name that sorts by time and can be a part of a file name. */
function timedName(what: string): string {
  return `${what}-${new Date().toISOString().replaceAll(':', '-')}`;
}
