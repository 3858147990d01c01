/**
 * The state of a project, open or closed: its settings, as stored and as clients see them; its topology file; what is
 * under way in its folder; and, while it is open, its topology. All of it changes through one lane.
 */
import type { Logger } from 'pino';
import type { FileTasks } from '../../base/disk/file-tasks.js';
import type { Intake } from '../../base/intake.js';
import { refusals } from '../../base/errors/errors.js';
import { packChanges } from '../../base/store/packing.js';
import type { Change, Packed, Store } from '../../base/store/store.js';
import { Channel } from '../../base/streams/channel.js';
import type { TaskRunner } from '../../base/threads/task-pool.js';
import { Gns3Mirror, type KeepState, type Gns3Place } from '../gns3-file/mirror.js';
import type { ProjectSettings } from '../gns3-file/topology-schema.js';
import type { Gns3Tasks } from '../gns3-file/tasks.js';
import { runRight } from './run-right.js';
import { loadTopology } from '../topology/topology-loading.js';
import type { TopologyContext, Topology } from '../topology/topology.js';
import type { ProjectHold, ProjectsElsewhere } from './elsewhere.js';
import type { PlacingTasks } from './file-placing.js';
import type { FolderSwap, FolderSwapTasks } from './folder-swap.js';
import type { FolderTasks } from './folder-tasks.js';
import { GivenRoom, type GivenLoads } from './given-room.js';
import { Lane } from './lane.js';
import { swapKey, projectKey, versionKey, type LabRecords, type ProjectRecord } from './records.js';
import type { Transaction } from './transaction.js';

/** The tasks of file threads that projects need. */
export type ProjectFileTasks = FileTasks & FolderSwapTasks & FolderTasks & PlacingTasks & Gns3Tasks;
export type ProjectFiles = TaskRunner<ProjectFileTasks>;

/** The services that all projects of the controller share. */
export interface ProjectServices {
  readonly store: Store;
  readonly intake: Pick<Intake, 'check'>;
  readonly files: ProjectFiles;
  readonly log: Logger;
  readonly gns3Version: string;
  readonly context: TopologyContext;
  readonly keepState: KeepState;
  /** Mends what a server left half written in the folder of a project; called before the project is opened. */
  readonly mendFolder: (folder: string) => Promise<void>;
  /** Called when the content of a project has been loaded and runs. */
  readonly contentLoaded: (projectId: string) => void;
  /** The controller's stream, where changes of a project as a whole are announced. */
  readonly announcements: Channel;
  /** Set where several servers share the store. */
  readonly elsewhere?: ProjectsElsewhere | undefined;
  /** The hold that comes with a project there. */
  readonly hold?: ProjectHold | undefined;
}

/** The records of a project, but for its nodes, links and drawings. */
export type StoredProject = Pick<LabRecords, 'project' | 'file' | 'version' | 'swap' | 'openState'>;

/** The content that a project gets in place of its own. */
export interface NewContent {
  /** Derives the new record from the one current at commit time. */
  readonly record: () => ProjectRecord;
  /** The nodes, links and drawings. */
  readonly changes: Packed;
  readonly swap: FolderSwap;
}

export class ProjectState {
  readonly id: string;
  readonly services: ProjectServices;
  /** Notifications of the project. */
  readonly channel = new Channel();
  readonly mirror: Gns3Mirror;
  isDeleted = false;
  /** Whether another server may have it by now. */
  isLost = false;
  /** Whether files are taking their places in the folder just now. */
  isPlacing = false;
  readonly #lane: Lane;
  readonly #log: Logger;
  #record: ProjectRecord;
  #version: number;
  #text: string;
  #swap: FolderSwap | undefined;
  #topology: Topology | undefined;
  /** The room that its nodes have, while it is open in a farm. */
  #given: GivenRoom | undefined;

  constructor(id: string, stored: StoredProject, services: ProjectServices) {
    this.id = id;
    this.services = services;
    this.#log = services.log.child({ project: id });
    this.#record = stored.project;
    this.#version = stored.version;
    this.#swap = stored.swap;
    this.#text = this.textOf(stored.project);
    this.#lane = new Lane(services.store, (transaction) => {
      this.#nextVersion(transaction);
      this.#given?.follow(transaction);
    });
    this.mirror = new Gns3Mirror({
      ...services,
      projectId: id,
      log: this.log,
      record: stored.file,
      place: () => this.place,
      onKept: (path) => {
        this.warn(
          `The project file was changed by another program while it was open; that version is in ${path}`,
        );
      },
    });
    if (stored.file.version !== stored.version) this.mirror.schedule();
  }

  /** The log of the server, at its level, with the project in each line. */
  get log(): Logger {
    const { level } = this.services.log;
    if (this.#log.level !== level) this.#log.level = level;
    return this.#log;
  }

  get record(): ProjectRecord {
    return this.#record;
  }

  get place(): Gns3Place {
    return { folder: this.#record.path, filename: this.#record.filename };
  }

  /** The project as clients see it, as JSON text. */
  get text(): string {
    return this.#text;
  }

  get isOpen(): boolean {
    return this.#topology !== undefined;
  }

  /** The content of the open project. Refuses (403) a closed one. */
  get topology(): Topology {
    if (this.#topology === undefined) throw refusals.projectClosed();
    return this.#topology;
  }

  /** The room that its nodes have, in a farm; undefined while it is closed. */
  get given(): GivenLoads | undefined {
    return this.#given?.most;
  }

  /** Whether a swap of files of the folder is under way, or was when something went wrong. */
  get isSwapping(): boolean {
    return this.#swap !== undefined;
  }

  textOf(record: ProjectRecord): string {
    return projectText(this.id, record, this.isOpen ? 'opened' : 'closed');
  }

  /** Renews the text and announces it. */
  publish(action: 'created' | 'opened' | 'updated' | 'closed'): void {
    this.log.debug(`the project was ${action}`);
    this.#text = this.textOf(this.#record);
    this.services.announcements.emit(`project.${action}`, this.#text, this.id);
  }

  /** Warns the log, the listeners of the project and those of the controller. */
  warn(message: string): void {
    this.log.warn(message);
    this.channel.emit('log.warning', JSON.stringify({ message }));
    const named = `${this.#record.settings.name}: ${message}`;
    this.services.announcements.emit('log.warning', JSON.stringify({ message: named }), this.id);
  }

  /** Runs a request that changes the state; answers when it is stored. */
  change<Result>(work: (transaction: Transaction) => Result): Promise<Result> {
    return this.#lane.change((transaction) => {
      this.#checkThere();
      return work(transaction);
    });
  }

  /** Changes the content of the open project; answers when it is stored and runs. */
  async changeContent<Result>(
    work: (topology: Topology, transaction: Transaction) => Result,
  ): Promise<Result> {
    const result = await this.change((transaction) => work(this.topology, transaction));
    await this.#topology?.run.settled();
    return result;
  }

  /** Publishes something about the topology, in order with what is stored, unless it was closed meanwhile. */
  publishIn(topology: Topology, work: (transaction: Transaction) => void): Promise<void> {
    return this.#lane.change((transaction) => {
      if (this.#topology === topology) work(transaction);
    });
  }

  /** Runs work that has to wait, while nothing else changes the state. */
  exclusively<Result>(work: () => Promise<Result>): Promise<Result> {
    return this.#lane.exclusively(() => {
      this.#checkThere();
      return work();
    });
  }

  /** Resolves when no change waits or runs. */
  idle(): Promise<void> {
    return this.#lane.idle();
  }

  /** Loads what the store holds of the project and makes it run. */
  async load(): Promise<void> {
    const topology = await loadTopology(this.services, {
      id: this.id,
      channel: this.channel,
      right: runRight(this.id, this.services),
      mend: (changes) => this.#mend(changes),
    });
    await this.#giveRoom(topology);
    this.#topology = topology;
    this.services.contentLoaded(this.id);
  }

  /** Tells the farm what the nodes of the project have. One that opens takes it, however little is left. */
  async #giveRoom(topology: Topology): Promise<void> {
    if (this.services.elsewhere === undefined) return;
    const given = new GivenRoom(this.id, topology.nodes.values());
    try {
      await this.services.store.commit([given.change]);
    } catch (error) {
      await topology.unload('removed');
      throw error;
    }
    this.#given = given;
  }

  /** Stores changes that are nobody's, of a project that nothing else changes. */
  async #mend(changes: readonly Change[]): Promise<void> {
    const version = this.#version + 1;
    await this.services.store.commit([...changes, { put: versionKey(this.id), value: version }]);
    this.#version = version;
    this.mirror.schedule();
  }

  /** Forgets the topology: the project is closed. */
  drop(): Topology | undefined {
    const topology = this.#topology;
    this.#topology = undefined;
    this.#given = undefined;
    return topology;
  }

  replace(transaction: Transaction, next: ProjectRecord): void {
    const before = this.#record;
    this.#record = next;
    transaction.onUndo(() => {
      this.#record = before;
    });
    transaction.store({ put: projectKey(this.id), value: next });
    transaction.onStored(() => {
      this.publish('updated');
    });
  }

  /** Stores new content and the swap of files that belongs to it, all of it or none. */
  async replaceContent({ record: next, changes, swap }: NewContent): Promise<void> {
    const record = next();
    const version = this.#version + 1;
    const own = packChanges([
      { put: projectKey(this.id), value: record },
      { put: versionKey(this.id), value: version },
      { put: swapKey(this.id), value: swap },
    ]);
    await this.services.store.commitPacked(changes, own);
    this.#record = record;
    this.#version = version;
    this.#swap = swap;
    this.mirror.schedule();
  }

  /** Begins a swap of files as a part of a transaction. */
  beginSwap(transaction: Transaction, swap: FolderSwap): void {
    transaction.store({ put: swapKey(this.id), value: swap });
    transaction.onStored(() => {
      this.#swap = swap;
    });
  }

  /** Refuses (409) a swap that could not be finished once it has begun. */
  checkSwap(swap: FolderSwap): Promise<void> {
    return this.services.files.run('checkSwap', { root: this.#record.path, ...swap });
  }

  /**
   * Finishes the swap that was begun, also one that a crash or a fault of the disk has interrupted. If the files can
   * never be swapped, they are what they were before, and the reason is returned.
   */
  async finishSwap(): Promise<string | undefined> {
    if (this.#swap === undefined) return undefined;
    const givenUp = await this.services.files.run('finishSwap', { root: this.#record.path, ...this.#swap });
    await this.services.store.commit([{ remove: swapKey(this.id) }]);
    this.#swap = undefined;
    if (givenUp !== undefined) this.warn(refusals.exchangeGivenUp(givenUp).message);
    return givenUp;
  }

  /**
   * If the project is closed, undoes or finishes what was interrupted in its folder, and takes over its file if another
   * program has changed it.
   */
  async reconcile(): Promise<void> {
    if (this.isOpen) return;
    if (!this.isPlacing) await this.services.files.run('undoPlacings', { root: this.#record.path });
    await this.finishSwap();
    // Another server has had the project, so the file here may be an old one: what is stored counts.
    if (this.services.elsewhere !== undefined) {
      this.mirror.schedule();
      return;
    }
    const takenOver = await this.mirror.takeOver(this.#record.order);
    if (takenOver === undefined) return;
    const { imported, keptAs } = takenOver;
    this.#record = imported.project;
    this.#version = imported.file.version;
    this.#text = this.textOf(this.#record);
    const before = keptAs === undefined ? '' : `; the state before is the snapshot ${keptAs}`;
    this.warn(`The project file was changed by another program and taken over${before}`);
  }

  #checkThere(): void {
    if (this.isLost) throw refusals.claimLost(this.id);
    if (this.isDeleted) throw refusals.projectUnknown(this.id);
  }

  /** Every commit stores a number that shows whether the topology file is out of date. */
  #nextVersion(transaction: Transaction): void {
    const version = this.#version;
    this.#version = version + 1;
    transaction.onUndo(() => {
      this.#version = version;
    });
    transaction.store({ put: versionKey(this.id), value: this.#version });
    transaction.onStored(() => {
      this.mirror.schedule();
    });
  }
}

/** A project as clients see it: exactly the contract's 19 keys, sorted. */
interface ProjectView extends ProjectSettings {
  readonly filename: string;
  readonly path: string;
  readonly project_id: string;
  readonly status: 'opened' | 'closed';
}

export function projectView(id: string, record: ProjectRecord, status: ProjectView['status']): ProjectView {
  const { settings } = record;
  return {
    auto_close: settings.auto_close,
    auto_open: settings.auto_open,
    auto_start: settings.auto_start,
    drawing_grid_size: settings.drawing_grid_size,
    filename: record.filename,
    grid_size: settings.grid_size,
    name: settings.name,
    path: record.path,
    project_id: id,
    scene_height: settings.scene_height,
    scene_width: settings.scene_width,
    show_grid: settings.show_grid,
    show_interface_labels: settings.show_interface_labels,
    show_layers: settings.show_layers,
    snap_to_grid: settings.snap_to_grid,
    status,
    supplier: settings.supplier,
    variables: settings.variables,
    zoom: settings.zoom,
  };
}

export function projectText(id: string, record: ProjectRecord, status: ProjectView['status']): string {
  return JSON.stringify(projectView(id, record, status));
}
