/**
 * A project, open or closed. Its settings are always known; its topology only while it is open. All changes go
 * through its lane, so requests on one project never overlap, and each is answered when it is stored.
 */
import type { Logger } from 'pino';
import { refusals } from '../../base/errors/errors.js';
import type { Packed } from '../../base/store/store.js';
import type { AsideFolder, AsideFolders } from './aside-folders.js';
import { AUTO_CLOSE_MS, AutoClose } from './auto-close.js';
import { Channel, type Listener } from '../../base/streams/channel.js';
import type { FolderExchange } from './folder-exchange.js';
import { FolderGate } from './folder-gate.js';
import { Lane } from './lane.js';
import { ContentExchange } from './content-exchange.js';
import { ProjectHead, type NewContent } from './project-head.js';
import { forgetProject } from './project-removal.js';
import { openKey, type LabRecords, type OpenState, type ProjectRecord } from './records.js';
import type { ProjectServices, ProjectState } from './project-services.js';
import { loadTopology, storedRecords } from '../topology/topology-loading.js';
import type { Topology } from '../topology/topology.js';
import type { TopologyPlace } from '../gns3-file/topology-mirror.js';
import type { ProjectSettings } from '../gns3-file/topology-schema.js';
import type { Transaction } from './transaction.js';

export class Project {
  readonly id: string;
  /** Whoever changes files of the project passes it. */
  readonly gate = new FolderGate();
  /** Whether it was open when the server before this one died. */
  readonly openStateAtStart: OpenState | undefined;
  readonly #services: ProjectServices;
  readonly #lane: Lane;
  readonly #channel = new Channel();
  readonly #autoClose: AutoClose;
  readonly #log: Logger;
  readonly #head: ProjectHead;
  readonly #exchange: ContentExchange;
  #topology: Topology | undefined;
  #isDeleted = false;
  #isPlacing = false;
  /** Whether somebody has said since the start that it is to be open, or closed. */
  #isDecided = false;

  constructor(id: string, state: ProjectState, services: ProjectServices) {
    this.id = id;
    this.openStateAtStart = state.openState;
    this.#services = services;
    this.#log = services.log.child({ project: id });
    this.#head = new ProjectHead(this, state, services, this.#log);
    this.#lane = new Lane(services.store, (transaction) => {
      this.#head.nextVersion(transaction);
    });
    this.#exchange = new ContentExchange(this, this.#head, services.store, {
      exclusively: (work) => this.#exclusively(work),
      reconcile: () => this.#reconcile(),
      load: async () => {
        this.#topology = await this.#load();
      },
      drop: () => {
        this.#topology = undefined;
      },
    });
    this.#autoClose = new AutoClose(AUTO_CLOSE_MS, () => {
      if (!this.record.settings.auto_close || this.#topology === undefined) return;
      this.close().catch((error: unknown) => {
        this.#log.error({ err: error }, 'the project could not be closed');
      });
    });
  }

  get record(): ProjectRecord {
    return this.#head.record;
  }

  get name(): string {
    return this.record.settings.name;
  }

  get place(): TopologyPlace {
    return this.#head.place;
  }

  get isOpen(): boolean {
    return this.#topology !== undefined;
  }

  /** Whether files are being exchanged for others, or were when something went wrong. */
  get isExchanging(): boolean {
    return this.#head.isExchanging;
  }

  /** Whether files take their places just now. */
  get isPlacing(): boolean {
    return this.#isPlacing;
  }

  /** The project as clients see it, as JSON text. */
  get text(): string {
    return this.#head.text;
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
      const next: ProjectRecord = { ...this.record, settings: { ...this.record.settings, ...given } };
      const text = this.#head.textOf(next);
      if (text !== this.#head.textOf(this.record)) this.#head.replace(transaction, next);
      return text;
    });
  }

  /** Points the project at another folder, as only clients on this machine may. */
  async move(path: string): Promise<void> {
    await this.#services.files.run('makeFolder', { folder: path });
    await this.#lane.change((transaction) => {
      if (this.#isDeleted) throw refusals.projectUnknown(this.id);
      this.#head.replace(transaction, { ...this.record, path });
    });
  }

  open(): Promise<string> {
    this.#isDecided = true;
    return this.#open('opened');
  }

  /** At a start; nothing when somebody has opened or closed it since. */
  async openAtStart(): Promise<void> {
    if (!this.#isDecided) await this.#open('opened');
  }

  /** Writes the file of a project that was just made and opens it: to its clients that is one event. */
  async openNew(): Promise<string> {
    await this.#head.mirror.flush();
    return this.#open('created');
  }

  close(): Promise<void> {
    this.#isDecided = true;
    return this.#exclusively(async () => {
      if (!this.isOpen) return;
      await this.flush();
      await this.#unload();
      this.#head.publish('closed');
      await this.#rememberState(undefined);
      await this.tidy();
    });
  }

  /** Ends a project that could not be made, and that nobody was told of. */
  async abandon(): Promise<void> {
    this.#isDeleted = true;
    await this.#head.mirror.cancel();
  }

  /** Removes the project; its folder lies aside then, to be removed. When that fails the project is as it was. */
  remove(asides: AsideFolders, onForgotten: () => void): Promise<AsideFolder> {
    return this.#exclusively(async () => {
      const before = this.#topology;
      const leave = async (): Promise<void> => {
        await this.#head.mirror.cancel();
        await this.#unload();
      };
      try {
        const leaving = { id: this.id, folder: this.record.path, leave };
        const aside = await forgetProject(this.#services, asides, leaving);
        this.#isDeleted = true;
        onForgotten();
        if (before !== undefined) this.#head.publish('closed');
        this.#services.announcements.emit('project.deleted', this.text);
        return aside;
      } catch (error) {
        this.#head.mirror.schedule();
        if (before !== undefined && this.#topology === undefined) await this.#comeBack();
        throw error;
      }
    });
  }

  /** Of a project that was about to go. */
  async #comeBack(): Promise<void> {
    try {
      this.#topology = await this.#load();
    } finally {
      this.#head.publish(this.isOpen ? 'opened' : 'closed');
    }
  }

  /** Writes the topology file if it is out of date. A full disk loses nothing: the store has it all. */
  flush(): Promise<void> {
    return this.#head.mirror.flushOrRetry();
  }

  /** Compares the topology file with what we wrote, and takes over what somebody else wrote. */
  reconcile(): Promise<void> {
    return this.#exclusively(() => this.#reconcile());
  }

  /**
   * What is stored of the project and its files, as of one moment: nothing of it changes while `work` runs, which should
   * be quick.
   */
  still<Result>(work: (records: Packed) => Promise<Result>): Promise<Result> {
    return this.#exchange.still(work);
  }

  /** Gives the open project other content, all or none of it: what is stored, and files that lie ready beside it. */
  replaceContent(content: NewContent, announce: (channel: Channel) => void): Promise<string> {
    return this.#exchange.replaceContent(content, () => {
      announce(this.#channel);
    });
  }

  /** Changes the content of the open project together with files that lie ready beside it. */
  changeWithFiles<Result>(
    files: FolderExchange,
    work: (topology: Topology, transaction: Transaction) => Result,
  ): Promise<Result> {
    return this.#exchange.changeWithFiles(files, work);
  }

  /** Files that lie ready take their places in the open project, while nothing else changes files there. */
  placeFiles(place: () => Promise<void>): Promise<void> {
    return this.gate.alone(async () => {
      if (!this.isOpen) throw refusals.projectClosed();
      this.#isPlacing = true;
      try {
        await place();
      } finally {
        this.#isPlacing = false;
      }
    });
  }

  /** What the store holds of the project; for an open project it may be a moment behind. */
  storedRecords(): Promise<LabRecords | undefined> {
    return storedRecords(this.#services.store, this.id);
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

  /** Removes what a crash has left in the folder; what is in use stays. */
  async tidy(): Promise<void> {
    if (this.#autoClose.isHeld || this.isExchanging) return;
    await this.#services.files.run('emptyTemporary', { folder: this.record.path });
  }

  /** Tells who listens to the project. */
  tell(action: string, text: string): void {
    this.#channel.emit(action, text);
  }

  /** Tells everybody who may want to know. */
  warn(message: string): void {
    this.#log.warn(message);
    this.#channel.emit('log.warning', JSON.stringify({ message }));
    this.#services.announcements.emit('log.warning', JSON.stringify({ message: `${this.name}: ${message}` }));
  }

  /** Publishes something about the topology, in order with what is stored, unless it was closed meanwhile. */
  publish(topology: Topology, work: (transaction: Transaction) => void): Promise<void> {
    return this.#lane.change((transaction) => {
      if (this.#topology === topology) work(transaction);
    });
  }

  /** Keeps the project from closing by itself while something of it is in use; returns the release. */
  hold(): () => void {
    return this.#autoClose.hold();
  }

  #open(action: 'opened' | 'created'): Promise<string> {
    return this.#exclusively(async () => {
      if (this.isOpen) return this.text;
      const { files } = this.#services;
      await files.run('makeFolder', { folder: this.record.path });
      await this.#reconcile();
      await this.flush();
      await this.tidy();
      await this.#services.mendFolder(this.record.path);
      await this.#rememberState('opening');
      try {
        this.#topology = await this.#load();
      } finally {
        await this.#rememberState(this.#topology === undefined ? undefined : 'open');
      }
      this.#head.publish(action);
      return this.text;
    });
  }

  /** For the next server, should this one die. What cannot be remembered keeps no project from opening or closing. */
  async #rememberState(state: OpenState | undefined): Promise<void> {
    const key = openKey(this.id);
    const change = state === undefined ? { remove: key } : { put: key, value: state };
    await this.#services.store.commit([change]).catch((error: unknown) => {
      this.#log.warn({ err: error }, `the store cannot remember that the project is ${state ?? 'closed'}`);
    });
  }

  /** What the store holds of the project, made to run. */
  #load(): Promise<Topology> {
    return loadTopology(this.#services, this.id, this.#channel);
  }

  #exclusively<Result>(work: () => Promise<Result>): Promise<Result> {
    return this.#lane.exclusively(() => {
      if (this.#isDeleted) throw refusals.projectUnknown(this.id);
      return work();
    });
  }

  async #reconcile(): Promise<void> {
    if (!this.isOpen) await this.#head.reconcile();
  }

  async #unload(): Promise<void> {
    this.#autoClose.cancel();
    const topology = this.#topology;
    if (topology === undefined) return;
    this.#topology = undefined;
    await topology.unload();
  }
}
