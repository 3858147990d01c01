/**
 * A project, open or closed. Its settings are always known; its topology only while it is open. All changes go
 * through its lane, so requests on one project never overlap, and each is answered when it is stored.
 */
import { refusals } from '../../base/errors/errors.js';
import type { Packed } from '../../base/store/store.js';
import type { Channel, Listener } from '../../base/streams/channel.js';
import type { Gns3Place } from '../gns3-file/mirror.js';
import type { ProjectSettings } from '../gns3-file/topology-schema.js';
import type { RunEnd } from '../lab-run.js';
import { actOnAllNodes } from '../topology/nodes.js';
import { storedRecords } from '../topology/topology-loading.js';
import type { Topology } from '../topology/topology.js';
import { AUTO_CLOSE_MS, AutoClose } from './auto-close.js';
import { ContentSwap, FolderGate } from './content-swap.js';
import type { FolderSwap } from './folder-swap.js';
import type { GivenLoads } from './given-room.js';
import { ProjectState, type NewContent, type ProjectServices, type StoredProject } from './project-state.js';
import { openStateChanges, type LabRecords, type OpenState, type ProjectRecord } from './records.js';
import type { Transaction } from './transaction.js';

export class Project {
  readonly id: string;
  /** Everything that changes files of the project passes it. */
  readonly gate = new FolderGate();
  /** Whether it was open when the server before this one died. */
  readonly openStateAtStart: OpenState | undefined;
  readonly #services: ProjectServices;
  readonly #state: ProjectState;
  readonly #swap: ContentSwap;
  /** Nodes whose state has changed while the project was being opened. */
  readonly #changedEarly = new Set<string>();
  readonly #autoClose: AutoClose;
  /** Whether a client has opened or closed it since the start of the server. */
  #isDecided = false;
  /** Whether it is open only for work of the server. */
  #isVisited = false;

  constructor(id: string, stored: StoredProject, services: ProjectServices) {
    this.id = id;
    this.openStateAtStart = stored.openState;
    this.#services = services;
    this.#state = new ProjectState(id, stored, services);
    this.#swap = new ContentSwap(this.#state, this.gate);
    this.#autoClose = new AutoClose(AUTO_CLOSE_MS, () => {
      if (!this.record.settings.auto_close || !this.isOpen) return;
      this.close().catch((error: unknown) => {
        this.#state.log.error({ err: error }, 'the project could not be closed');
      });
    });
  }

  get record(): ProjectRecord {
    return this.#state.record;
  }

  get name(): string {
    return this.record.settings.name;
  }

  get place(): Gns3Place {
    return this.#state.place;
  }

  get isOpen(): boolean {
    return this.#state.isOpen;
  }

  /** Whether files are being swapped for others, or were when something went wrong. */
  get isSwapping(): boolean {
    return this.#state.isSwapping;
  }

  /** Whether somebody listens to it, or holds it for a work. */
  get isInUse(): boolean {
    return this.#autoClose.isHeld || this.#state.channel.size > 0 || this.isSwapping;
  }

  /** The project as clients see it, as JSON text. */
  get text(): string {
    return this.#state.text;
  }

  /** The content of the open project, for reading what is published. Refuses (403) a closed one. */
  get topology(): Topology {
    return this.#state.topology;
  }

  /** The room that its nodes have, in a farm; undefined while it is closed. */
  get given(): GivenLoads | undefined {
    return this.#state.given;
  }

  /** Waits for an opening or closing that is under way. */
  async settled(): Promise<void> {
    if (!this.isOpen) await this.#state.idle();
  }

  /** Changes the content of the open project; answers when it is stored and runs. */
  change<Result>(work: (topology: Topology, transaction: Transaction) => Result): Promise<Result> {
    return this.#state.changeContent(work);
  }

  /** Changes settings of the project, open or closed. `check` may refuse. */
  async update(given: Partial<ProjectSettings>): Promise<string> {
    if (!this.isOpen) await this.reconcile();
    const state = this.#state;
    return state.change((transaction) => {
      const next: ProjectRecord = { ...this.record, settings: { ...this.record.settings, ...given } };
      const text = state.textOf(next);
      if (text !== state.textOf(this.record)) state.replace(transaction, next);
      return text;
    });
  }

  /** Points the project at another folder, as only clients on this machine may. */
  async move(path: string): Promise<void> {
    await this.#services.files.run('makeFolder', { folder: path });
    await this.#state.change((transaction) => {
      this.#state.replace(transaction, { ...this.record, path });
    });
  }

  /** Refuses (503) to open a closed one when the server takes no new work. */
  async open(): Promise<string> {
    if (!this.isOpen) this.#services.intake.check();
    this.#isDecided = true;
    if (this.#isVisited && this.isOpen && this.record.settings.auto_start) this.#startNodes();
    this.#isVisited = false;
    return this.#open('opened');
  }

  /**
   * Runs work while the project is open. One that is closed opens without starting nodes, and closes afterwards unless a
   * client has opened it meanwhile.
   */
  async whileOpen<Result>(work: () => Promise<Result>): Promise<Result> {
    const release = this.hold();
    try {
      if (!this.isOpen) {
        this.#isVisited = true;
        await this.#open('opened');
      }
      return await work();
    } finally {
      release();
      if (this.#isVisited) await this.close();
    }
  }

  /** Opens it at the start of the server, unless a client has opened or closed it since. */
  async openAtStart(): Promise<void> {
    const isSecond = this.openStateAtStart === 'opening';
    if (!this.#isDecided) await this.#open('opened', isSecond ? 'opening again' : 'opening');
  }

  /** Writes the file of a project that was just made and opens it. Clients get one event for both. */
  async openNew(): Promise<string> {
    await this.#state.mirror.flush();
    return this.#open('created');
  }

  /** With `reopens`, the next server opens it again. */
  close(reopens = false): Promise<void> {
    this.#isDecided = true;
    this.#isVisited = false;
    return this.#state.exclusively(async () => {
      if (!this.isOpen) return;
      await this.flush();
      await this.#unload('closing');
      this.#state.publish('closed');
      if (!reopens) await this.#rememberState(undefined);
      await this.tidy();
    });
  }

  /** Ends a project that could not be made, and that was never announced. */
  async abandon(): Promise<void> {
    this.#state.isDeleted = true;
    await this.#state.mirror.cancel();
  }

  /** Ends a project that another server may have by now, and stores nothing of it any more. */
  async leave(): Promise<void> {
    const { mirror, channel } = this.#state;
    this.#state.isLost = true;
    const cancelled = mirror.cancel();
    await this.#unload('closing');
    await cancelled;
    // An opening that was under way ends with a topology.
    await this.#state.idle();
    await this.#unload('closing');
    channel.emit('log.warning', JSON.stringify({ message: 'Another server has taken over the project' }));
  }

  /**
   * Removes the project. `forget` makes the server forget it, after it has called `leave`, which ends everything that
   * could write to the folder. When it fails the project is as it was.
   */
  remove<Result>(
    forget: (leave: () => Promise<void>) => Promise<Result>,
    onForgotten: () => void,
  ): Promise<Result> {
    const state = this.#state;
    return state.exclusively(async () => {
      const wasOpen = this.isOpen;
      try {
        const result = await forget(async () => {
          await state.mirror.cancel();
          await this.#unload('removed');
        });
        state.isDeleted = true;
        onForgotten();
        if (wasOpen) state.publish('closed');
        this.#services.announcements.emit('project.deleted', this.text, this.id);
        return result;
      } catch (error) {
        state.mirror.schedule();
        if (wasOpen && !state.isOpen) await this.#comeBack();
        throw error;
      }
    });
  }

  /** Opens a project again that could not be removed. */
  async #comeBack(): Promise<void> {
    try {
      await this.#state.load();
    } finally {
      this.#state.publish(this.isOpen ? 'opened' : 'closed');
    }
  }

  /** Writes the topology file if it is out of date. A full disk loses nothing: the store has it all. */
  flush(): Promise<void> {
    return this.#state.mirror.flushOrRetry();
  }

  /** Compares the topology file with what we wrote, and takes over what another program wrote. */
  reconcile(): Promise<void> {
    return this.#state.exclusively(() => this.#state.reconcile());
  }

  /**
   * Hands what is stored of the project to `work`. Neither that nor the files of the project change while it runs, so it
   * should be quick.
   */
  still<Result>(work: (records: Packed) => Promise<Result>): Promise<Result> {
    return this.#swap.still(work);
  }

  /** Gives the open project other content, all of it or none: other records, and files that lie ready in the folder. */
  replaceContent(content: NewContent, announce: (channel: Channel) => void): Promise<string> {
    return this.#swap.replaceContent(content, () => {
      announce(this.#state.channel);
    });
  }

  /** Changes the content of the open project together with files that lie ready in the folder. */
  changeWithFiles<Result>(
    files: FolderSwap,
    work: (topology: Topology, transaction: Transaction) => Result,
  ): Promise<Result> {
    return this.#swap.changeWithFiles(files, work);
  }

  /** Lets files that lie ready take their places in the open project, while nothing else changes files there. */
  placeFiles(place: () => Promise<void>): Promise<void> {
    return this.gate.alone(async () => {
      if (!this.isOpen) throw refusals.projectClosed();
      this.#state.isPlacing = true;
      try {
        await place();
      } finally {
        this.#state.isPlacing = false;
      }
    });
  }

  /** The records of the project in the store; for an open project they may be a moment behind. */
  storedRecords(): Promise<LabRecords | undefined> {
    return storedRecords(this.#services.store, this.id);
  }

  /** Notifications of the project; the project may close some time after the last listener has gone. */
  listen(listener: Listener): () => void {
    const unobserve = this.observe(listener);
    const leave = this.#autoClose.attend();
    return () => {
      unobserve();
      leave();
    };
  }

  /** Notifications of the project for somebody who only looks: the project closes as if nobody were there. */
  observe(listener: Listener): () => void {
    return this.#state.channel.subscribe(listener);
  }

  /** The notifications of the project, by number. */
  get events(): Pick<Channel, 'keepEvents' | 'sequence' | 'since'> {
    return this.#state.channel;
  }

  /** Removes what a crash has left in the folder; what is in use stays. */
  async tidy(): Promise<void> {
    if (this.#autoClose.isHeld || this.isSwapping) return;
    await this.#services.files.run('emptyTemporary', { folder: this.record.path });
  }

  /** Notifies the listeners of the project. */
  tell(action: string, text: string): void {
    this.#state.channel.emit(action, text);
  }

  /** Warns the log, the listeners of the project and those of the controller. */
  warn(message: string): void {
    this.#state.warn(message);
  }

  /** Publishes something about the topology, in order with what is stored, unless it was closed meanwhile. */
  publish(topology: Topology, work: (transaction: Transaction) => void): Promise<void> {
    return this.#state.publishIn(topology, work);
  }

  /** Publishes and announces a node whose state has changed without a change of what is stored. */
  nodeChanged(nodeId: string): void {
    if (!this.isOpen) {
      this.#changedEarly.add(nodeId);
      return;
    }
    const { topology } = this;
    const published = this.publish(topology, (transaction) => {
      topology.nodes.refresh(transaction, nodeId, 'updated');
    });
    published.catch((error: unknown) => {
      this.#state.log.error({ err: error, node: nodeId }, 'the state of a node could not be announced');
    });
  }

  /** Keeps the project from closing by itself while something of it is in use; returns the release. */
  hold(): () => void {
    return this.#autoClose.hold();
  }

  /** Refuses (507) bytes that an open project has no room for. What is returned is called when they have come or not. */
  async takeRoom(bytes: number): Promise<() => void> {
    return this.isOpen ? this.topology.run.takeRoom(bytes) : () => undefined;
  }

  #open(action: 'opened' | 'created', begun: OpenState = 'opening'): Promise<string> {
    const state = this.#state;
    return state.exclusively(async () => {
      if (this.isOpen) return this.text;
      const { files, mendFolder } = this.#services;
      await files.run('makeFolder', { folder: this.record.path });
      await state.reconcile();
      await this.flush();
      await this.tidy();
      await mendFolder(this.record.path);
      await this.#rememberState(begun);
      this.#changedEarly.clear();
      try {
        await state.load();
      } finally {
        await this.#rememberState(state.isOpen ? 'open' : undefined);
      }
      state.publish(action);
      for (const nodeId of this.#changedEarly) this.nodeChanged(nodeId);
      if (this.record.settings.auto_start && !this.#isVisited) this.#startNodes();
      return this.text;
    });
  }

  /** Does not wait for the nodes: each tells when it runs. */
  #startNodes(): void {
    actOnAllNodes(this.topology, 'start').catch((error: unknown) => {
      this.warn(`Not all nodes were started: ${error instanceof Error ? error.message : String(error)}`);
    });
  }

  /**
   * For the next server, should this one die. The captures of a project end with it. A project opens and closes even if that cannot be remembered.
   */
  async #rememberState(openState: OpenState | undefined): Promise<void> {
    const changes = openStateChanges(this.id, openState, this.#services.elsewhere?.own);
    await this.#services.store.commit(changes).catch((error: unknown) => {
      const what = openState ?? 'closed';
      this.#state.log.warn({ err: error }, `the store cannot remember that the project is ${what}`);
    });
  }

  async #unload(how: RunEnd): Promise<void> {
    this.#autoClose.cancel();
    await this.#state.drop()?.unload(how);
  }
}
