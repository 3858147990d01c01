/**
 * A project, open or closed. Its settings are always known; its topology only while it is open. All changes go
 * through its lane, so requests on one project never overlap, and each is answered when it is stored.
 */
import type { Logger } from 'pino';
import { refusals } from '../errors.js';
import { AUTO_CLOSE_MS, AutoClose } from './auto-close.js';
import { Channel, type Listener } from './channel.js';
import { Lane } from './lane.js';
import { forgetProject } from './project-removal.js';
import { projectText } from './project-view.js';
import { keysOf, projectKey, sortOut, versionKey, type LabRecords, type ProjectRecord } from './records.js';
import type { ProjectServices, ProjectState } from './project-services.js';
import { Topology } from './topology.js';
import { TopologyMirror, type TopologyPlace } from './topology-mirror.js';
import type { ProjectSettings } from './topology-schema.js';
import type { Transaction } from './transaction.js';

export class Project {
  readonly id: string;
  readonly #services: ProjectServices;
  readonly #lane: Lane;
  readonly #mirror: TopologyMirror;
  readonly #channel = new Channel();
  readonly #autoClose: AutoClose;
  readonly #log: Logger;
  #record: ProjectRecord;
  #version: number;
  #topology: Topology | undefined;
  #text: string;
  #isDeleted = false;

  constructor(id: string, state: ProjectState, services: ProjectServices) {
    this.id = id;
    this.#services = services;
    this.#record = state.project;
    this.#version = state.version;
    this.#log = services.log.child({ project: id });
    this.#lane = new Lane(services.store, (transaction) => {
      this.#nextVersion(transaction);
    });
    this.#mirror = new TopologyMirror({
      ...services,
      projectId: id,
      log: this.#log,
      record: state.file,
      place: () => this.place,
      onKept: (path) => {
        this.warn(
          `The project file was changed by another program while it was open; that version is in ${path}`,
        );
      },
    });
    this.#autoClose = new AutoClose(AUTO_CLOSE_MS, () => {
      if (!this.#record.settings.auto_close || this.#topology === undefined) return;
      this.close().catch((error: unknown) => {
        this.#log.error({ err: error }, 'the project could not be closed');
      });
    });
    this.#text = projectText(id, this.#record, 'closed');
    if (state.file.version !== state.version) this.#mirror.schedule();
  }

  get record(): ProjectRecord {
    return this.#record;
  }

  get name(): string {
    return this.#record.settings.name;
  }

  get place(): TopologyPlace {
    return { folder: this.#record.path, filename: this.#record.filename };
  }

  get isOpen(): boolean {
    return this.#topology !== undefined;
  }

  /** The project as clients see it, as JSON text. */
  get text(): string {
    return this.#text;
  }

  /** The content of the open project, for reading what is published. */
  get topology(): Topology {
    if (this.#topology === undefined) throw refusals.projectClosed();
    return this.#topology;
  }

  /** Waits for an opening or closing that is under way. */
  async settled(): Promise<void> {
    if (!this.isOpen) await this.#lane.idle();
  }

  /** Changes the content of the open project; answers when it is stored and runs. */
  async change<Result>(work: (topology: Topology, transaction: Transaction) => Result): Promise<Result> {
    const result = await this.#lane.change((transaction) => {
      if (this.#isDeleted) throw refusals.projectUnknown(this.id);
      return work(this.topology, transaction);
    });
    await this.#topology?.run.settled();
    return result;
  }

  /** Changes settings of the project, open or closed. `check` may refuse. */
  async update(given: Partial<ProjectSettings>, check: () => void): Promise<string> {
    if (!this.isOpen) await this.reconcile();
    return this.#lane.change((transaction) => {
      if (this.#isDeleted) throw refusals.projectUnknown(this.id);
      check();
      const next: ProjectRecord = { ...this.#record, settings: { ...this.#record.settings, ...given } };
      const text = this.#textOf(next);
      if (text === this.#textOf(this.#record)) return text;
      this.#replace(transaction, next);
      return text;
    });
  }

  /** Points the project at another folder, as only clients on this machine may. */
  async move(path: string): Promise<void> {
    await this.#services.files.run('makeFolder', { folder: path });
    await this.#lane.change((transaction) => {
      this.#replace(transaction, { ...this.#record, path });
    });
  }

  open(): Promise<string> {
    return this.#open('opened');
  }

  /** Writes the file of a project that was just made and opens it: to its clients that is one event. */
  async openNew(): Promise<string> {
    await this.#mirror.flush();
    return this.#open('created');
  }

  close(): Promise<void> {
    return this.#exclusively(async () => {
      if (!this.isOpen) return;
      await this.flush();
      await this.#unload();
      await this.#emptyTemporary();
    });
  }

  /** Ends a project that could not be made, and that nobody was told of. */
  async abandon(): Promise<void> {
    this.#isDeleted = true;
    await this.#mirror.cancel();
  }

  /** Removes the project and its folder. */
  async remove(): Promise<void> {
    await this.#exclusively(async () => {
      await this.#mirror.cancel();
      await this.#unload();
      await forgetProject(this.#services, this.id, this.#record.path, () => {
        this.#isDeleted = true;
        this.#services.announcements.emit('project.deleted', this.#text);
      });
    });
  }

  /** Writes the topology file if it is out of date. A full disk loses nothing: the store has it all. */
  flush(): Promise<void> {
    return this.#mirror.flushOrRetry();
  }

  /** Compares the topology file with what we wrote, and takes over what somebody else wrote. */
  reconcile(): Promise<void> {
    return this.#exclusively(() => this.#reconcile());
  }

  /** What the store holds of the project; for an open project it may be a moment behind. */
  async storedRecords(): Promise<LabRecords | undefined> {
    return sortOut(await this.#services.store.load(...keysOf(this.id)));
  }

  /** Notifications of the project; the project may close some time after the last listener has gone. */
  listen(listener: Listener): () => void {
    const unsubscribe = this.#channel.subscribe(listener);
    this.#autoClose.listenerCame();
    return () => {
      unsubscribe();
      if (this.#channel.size === 0) this.#autoClose.lastListenerLeft();
    };
  }

  /** Tells everybody who may want to know. */
  warn(message: string): void {
    this.#log.warn(message);
    this.#channel.emit('log.warning', JSON.stringify({ message }));
    this.#services.announcements.emit('log.warning', JSON.stringify({ message: `${this.name}: ${message}` }));
  }

  /** Keeps the project from closing by itself while something of it is in use; returns the release. */
  hold(): () => void {
    return this.#autoClose.hold();
  }

  #open(action: 'opened' | 'created'): Promise<string> {
    return this.#exclusively(async () => {
      if (this.isOpen) return this.#text;
      const { files, surroundings } = this.#services;
      await files.run('makeFolder', { folder: this.#record.path });
      await this.#reconcile();
      await this.flush();
      await this.#emptyTemporary();
      await files.run('mendCaptures', { root: this.#record.path });
      const records = await this.storedRecords();
      if (records === undefined) throw refusals.projectUnknown(this.id);
      const topology: Topology = new Topology(this.id, this.#channel, surroundings, {
        // In order with what is stored. The project may have been closed meanwhile.
        publish: (work) =>
          this.#lane.change((transaction) => {
            if (this.#topology === topology) work(topology, transaction);
          }),
        hold: () => this.hold(),
      });
      topology.load(records);
      await topology.run.settled();
      this.#topology = topology;
      this.#publish(action);
      return this.#text;
    });
  }

  #exclusively<Result>(work: () => Promise<Result>): Promise<Result> {
    return this.#lane.exclusively(() => {
      if (this.#isDeleted) throw refusals.projectUnknown(this.id);
      return work();
    });
  }

  /** Leftovers of a crash; what is in use is none. */
  async #emptyTemporary(): Promise<void> {
    if (this.#autoClose.isHeld) return;
    await this.#services.files.run('emptyTemporary', { folder: this.#record.path });
  }

  async #reconcile(): Promise<void> {
    if (this.isOpen) return;
    const takenOver = await this.#mirror.takeOver(this.#record.order);
    if (takenOver === undefined) return;
    const { imported, keptAs } = takenOver;
    this.#record = imported.project;
    this.#version = imported.file.version;
    this.#text = this.#textOf(this.#record);
    const before = keptAs === undefined ? '' : `; the state before is in ${keptAs}`;
    this.warn(`The project file was changed by another program and taken over${before}`);
  }

  /** Every commit stores the number that tells whether the topology file is out of date. */
  #nextVersion(transaction: Transaction): void {
    const version = this.#version;
    this.#version = version + 1;
    transaction.onUndo(() => {
      this.#version = version;
    });
    transaction.store({ put: versionKey(this.id), value: this.#version });
    transaction.onStored(() => {
      this.#mirror.schedule();
    });
  }

  #replace(transaction: Transaction, next: ProjectRecord): void {
    const before = this.#record;
    this.#record = next;
    transaction.onUndo(() => {
      this.#record = before;
    });
    transaction.store({ put: projectKey(this.id), value: next });
    transaction.onStored(() => {
      this.#publish('updated');
    });
  }

  async #unload(): Promise<void> {
    this.#autoClose.cancel();
    const topology = this.#topology;
    if (topology === undefined) return;
    this.#topology = undefined;
    await topology.unload();
    this.#publish('closed');
  }

  #publish(action: 'created' | 'opened' | 'updated' | 'closed'): void {
    this.#text = this.#textOf(this.#record);
    this.#services.announcements.emit(`project.${action}`, this.#text);
  }

  #textOf(record: ProjectRecord): string {
    return projectText(this.id, record, this.isOpen ? 'opened' : 'closed');
  }
}
