/**
 * What is known of a project whether it is open or closed: its settings, as stored and as clients see them; its topology
 * file; and what is under way in its folder. Its owner calls one thing after the other.
 */
import type { Logger } from 'pino';
import { refusals } from '../../base/errors/errors.js';
import { packChanges } from '../../base/store/packing.js';
import type { Packed } from '../../base/store/store.js';
import type { FolderExchange } from './folder-exchange.js';
import type { ProjectServices, ProjectState } from './project-services.js';
import { projectText } from './project-view.js';
import { exchangeKey, projectKey, versionKey, type ProjectRecord } from './records.js';
import { TopologyMirror, type TopologyPlace } from '../gns3-file/topology-mirror.js';
import type { Transaction } from './transaction.js';

/** What a project is to hold instead of what it holds. */
export interface NewContent {
  /** Made of the one that there is then. */
  readonly record: () => ProjectRecord;
  /** Of what is stored besides. */
  readonly changes: Packed;
  readonly exchange: FolderExchange;
}

export interface HeadOwner {
  readonly id: string;
  readonly isOpen: boolean;
  readonly isPlacing: boolean;
  /** Tells everybody who may want to know. */
  warn(message: string): void;
}

export class ProjectHead {
  readonly mirror: TopologyMirror;
  readonly #owner: HeadOwner;
  readonly #services: ProjectServices;
  #record: ProjectRecord;
  #version: number;
  #text: string;
  #exchange: FolderExchange | undefined;

  constructor(owner: HeadOwner, state: ProjectState, services: ProjectServices, log: Logger) {
    this.#owner = owner;
    this.#services = services;
    this.#record = state.project;
    this.#version = state.version;
    this.#exchange = state.exchange;
    this.#text = this.textOf(state.project);
    this.mirror = new TopologyMirror({
      ...services,
      projectId: owner.id,
      log,
      record: state.file,
      place: () => this.place,
      onKept: (path) => {
        owner.warn(
          `The project file was changed by another program while it was open; that version is in ${path}`,
        );
      },
    });
    if (state.file.version !== state.version) this.mirror.schedule();
  }

  get record(): ProjectRecord {
    return this.#record;
  }

  /** Whether something in the folder is half done. */
  get isExchanging(): boolean {
    return this.#exchange !== undefined;
  }

  get place(): TopologyPlace {
    return { folder: this.#record.path, filename: this.#record.filename };
  }

  /** The project as clients see it, as JSON text. */
  get text(): string {
    return this.#text;
  }

  textOf(record: ProjectRecord): string {
    return projectText(this.#owner.id, record, this.#owner.isOpen ? 'opened' : 'closed');
  }

  publish(action: 'created' | 'opened' | 'updated' | 'closed'): void {
    this.#text = this.textOf(this.#record);
    this.#services.announcements.emit(`project.${action}`, this.#text);
  }

  replace(transaction: Transaction, next: ProjectRecord): void {
    const before = this.#record;
    this.#record = next;
    transaction.onUndo(() => {
      this.#record = before;
    });
    transaction.store({ put: projectKey(this.#owner.id), value: next });
    transaction.onStored(() => {
      this.publish('updated');
    });
  }

  /** Every commit stores the number that tells whether the topology file is out of date. */
  nextVersion(transaction: Transaction): void {
    const version = this.#version;
    this.#version = version + 1;
    transaction.onUndo(() => {
      this.#version = version;
    });
    transaction.store({ put: versionKey(this.#owner.id), value: this.#version });
    transaction.onStored(() => {
      this.mirror.schedule();
    });
  }

  /** Begins an exchange with the changes that belong to it, all or none of them. */
  async replaceContent({ record: next, changes, exchange }: NewContent): Promise<void> {
    const { id } = this.#owner;
    const record = next();
    const version = this.#version + 1;
    const own = packChanges([
      { put: projectKey(id), value: record },
      { put: versionKey(id), value: version },
      { put: exchangeKey(id), value: exchange },
    ]);
    await this.#services.store.commitPacked(changes, own);
    this.#record = record;
    this.#version = version;
    this.#exchange = exchange;
    this.mirror.schedule();
  }

  /** Begins an exchange as a part of a transaction. */
  begin(transaction: Transaction, exchange: FolderExchange): void {
    transaction.store({ put: exchangeKey(this.#owner.id), value: exchange });
    transaction.onStored(() => {
      this.#exchange = exchange;
    });
  }

  /**
   * What a crash or a fault of the disk has interrupted is gone on with when the project is looked at again. Returns why
   * the files are what they were before, if they can never be exchanged.
   */
  async finishExchange(): Promise<string | undefined> {
    if (this.#exchange === undefined) return undefined;
    const input = { root: this.#record.path, ...this.#exchange };
    const givenUp = await this.#services.files.run('finishExchange', input);
    await this.#services.store.commit([{ remove: exchangeKey(this.#owner.id) }]);
    this.#exchange = undefined;
    if (givenUp !== undefined) this.#owner.warn(refusals.exchangeGivenUp(givenUp).message);
    return givenUp;
  }

  /** Refuses (409) one that could not be finished once it has begun. */
  checkExchange(exchange: FolderExchange): Promise<void> {
    return this.#services.files.run('checkExchange', { root: this.#record.path, ...exchange });
  }

  /** Of a closed project: undoes or goes on with what was interrupted, and takes over what somebody else wrote to its file. */
  async reconcile(): Promise<void> {
    if (!this.#owner.isPlacing) await this.#services.files.run('undoPlacings', { root: this.#record.path });
    await this.finishExchange();
    const takenOver = await this.mirror.takeOver(this.#record.order);
    if (takenOver === undefined) return;
    const { imported, keptAs } = takenOver;
    this.#record = imported.project;
    this.#version = imported.file.version;
    this.#text = this.textOf(this.#record);
    const before = keptAs === undefined ? '' : `; the state before is the snapshot ${keptAs}`;
    this.#owner.warn(`The project file was changed by another program and taken over${before}`);
  }
}
