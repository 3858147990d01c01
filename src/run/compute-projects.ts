/** The projects of the compute interface. They live in memory, apart from the projects of the controller. */
import { randomUUID } from 'node:crypto';
import { isAbsolute, resolve } from 'node:path';
import { refusals } from '../base/errors/errors.js';
import type { RunEnd } from '../lab/lab-run.js';
import type { Project } from '../lab/projects/project.js';
import {
  ComputeProject,
  type ComputeProjectSettings,
  type ProjectPlace,
  type Variables,
} from './compute-project.js';
import type { ComputeServices } from './compute-services.js';
import type { ComputeNode } from './nodes/compute-node.js';
import { NodeTable } from './nodes/node-table.js';
import type { ProjectFolders } from './project-folders.js';

interface NewComputeProject {
  readonly name: string;
  readonly project_id?: string | null | undefined;
  readonly path?: string | null | undefined;
  readonly variables?: Variables | undefined;
}

interface Entry {
  readonly project: ComputeProject;
  readonly ownFolder: string;
  readonly ready: Promise<void>;
}

const MOST_PROJECTS = 10_000;

export class ComputeProjects {
  readonly #folders: ProjectFolders;
  readonly #allowsAnyPath: boolean;
  readonly #services: ComputeServices;
  readonly #entries = new Map<string, Entry>();
  /** By id: `#closing` settles when the nodes have ended, `#ending` when the folder is done with as well. Neither rejects. */
  readonly #closing = new Map<string, Promise<void>>();
  readonly #ending = new Map<string, Promise<void>>();
  readonly #nodes = new NodeTable();

  constructor(folders: ProjectFolders, allowsAnyPath: boolean, services: ComputeServices) {
    this.#folders = folders;
    this.#allowsAnyPath = allowsAnyPath;
    this.#services = services;
  }

  list(): string {
    return `[${[...this.#entries.values()].map(({ project }) => project.text).join(',')}]`;
  }

  find(id: string): ComputeProject {
    const entry = this.#entries.get(id);
    if (entry === undefined) throw refusals.projectUnknown(id);
    return entry.project;
  }

  /** A project that does not run at this moment, as while a snapshot is restored, has room for anything. */
  async takeRoom(id: string, bytes: number): Promise<() => void> {
    return (await this.#entries.get(id)?.project.takeRoom(bytes)) ?? (() => undefined);
  }

  /** Undefined for a node that was not made yet, or was removed. */
  nodeOf(projectId: string, nodeId: string): ComputeNode | undefined {
    return this.#entries.get(projectId)?.project.findNode(nodeId);
  }

  /** A known id is answered with the project that has it. */
  async create({ name, project_id, path, variables = null }: NewComputeProject): Promise<string> {
    const id = project_id ?? randomUUID();
    const ownFolder = this.#folderFor(id, path);
    // The end of an older project of this id would remove the folder of the new one.
    while (this.#ending.has(id)) await this.#ending.get(id);
    const entry =
      this.#entries.get(id) ??
      this.#add({ id, name, variables }, ownFolder, () => this.#folders.prepare(id, ownFolder));
    await entry.ready;
    return entry.project.text;
  }

  /**
   * Lets a project of the controller run here. The controller has made its folder. This must not wait for work on
   * folders: that may itself wait until the project is open.
   */
  async adopt(id: string, name: string, endsOthers: boolean): Promise<void> {
    while (this.#closing.has(id)) await this.#closing.get(id);
    if (endsOthers && this.#entries.has(id)) await this.close(id);
    if (this.#entries.has(id)) return;
    this.#add({ id, name, variables: null }, this.#folders.usualFolder(id), () => Promise.resolve());
  }

  /** Ends the nodes of the project and forgets it; the files stay. */
  close(id: string, how: RunEnd = 'closing'): Promise<void> {
    return this.#end(id, how, () => Promise.resolve());
  }

  /** Closes the project and removes its folder, unless the folder belongs to a project of the controller. */
  delete(id: string): Promise<void> {
    return this.#end(id, 'removed', async ({ ready, ownFolder }) => {
      await ready;
      await this.#folders.remove(id, ownFolder);
    });
  }

  /** Call only at the end of the process, when no engine runs any more. */
  closeSockets(): void {
    for (const { project } of this.#entries.values()) project.closeSockets();
  }

  async #end(id: string, how: RunEnd, finish: (entry: Entry) => Promise<void>): Promise<void> {
    const entry = this.#entries.get(id);
    if (entry === undefined) throw refusals.projectUnknown(id);
    this.#entries.delete(id);
    const closed = entry.project.close(how);
    const ended = closed.then(() => finish(entry));
    remember(this.#closing, id, closed);
    remember(this.#ending, id, ended);
    await ended;
  }

  #add(settings: ComputeProjectSettings, ownFolder: string, prepare: () => Promise<void>): Entry {
    const { id } = settings;
    if (this.#entries.size >= MOST_PROJECTS) throw refusals.tooMany('projects', MOST_PROJECTS);
    const project = new ComputeProject(
      settings,
      this.#placeOf(settings, ownFolder),
      this.#nodes,
      this.#services,
    );
    const entry = { project, ownFolder, ready: prepare() };
    this.#entries.set(id, entry);
    entry.ready.catch(() => {
      if (this.#entries.get(id) === entry) this.#entries.delete(id);
    });
    return entry;
  }

  #placeOf({ id, name }: ComputeProjectSettings, ownFolder: string): ProjectPlace {
    const ownerOf = (): Project | undefined => this.#folders.ownerOf(id);
    return {
      get name() {
        return ownerOf()?.name ?? name;
      },
      get folder() {
        return ownerOf()?.place.folder ?? ownFolder;
      },
      get isOfController() {
        return ownerOf() !== undefined;
      },
    };
  }

  #folderFor(id: string, path: string | null | undefined): string {
    if (!this.#allowsAnyPath || path == null) return this.#folders.usualFolder(id);
    if (!isAbsolute(path) || path.includes('"')) throw refusals.projectPathRefused();
    return resolve(path);
  }
}

/** Keeps the work in the map until it has settled. */
function remember(under: Map<string, Promise<void>>, id: string, work: Promise<void>): void {
  const done = work
    .catch(() => undefined)
    .then(() => {
      if (under.get(id) === done) under.delete(id);
    });
  under.set(id, done);
}
