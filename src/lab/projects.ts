/**
 * The projects of the farm: those of the store whose folder is there, and those found in the projects folder.
 * A project whose folder is gone is not shown, but what is stored of it is kept in case the folder comes back.
 */
import { randomUUID } from 'node:crypto';
import { dirname, isAbsolute, join, resolve } from 'node:path';
import { refusals } from '../errors.js';
import { isBelow } from '../storage/path-order.js';
import type { Finding } from './folder-tasks.js';
import { Lane } from './lane.js';
import { makeProject, takeInProject, type ReadyProject } from './project-making.js';
import { checkFit, freeName } from './project-names.js';
import { finishRemovals } from './project-removal.js';
import { Project } from './project.js';
import type { ProjectServices } from './project-services.js';
import { HEADS, NEVER_WRITTEN, sortOut, type ProjectRecord } from './records.js';
import type { ImportedProject } from './topology-import.js';
import { projectSettings, type ProjectSettings } from './topology-schema.js';

export interface NewProject extends Partial<ProjectSettings> {
  readonly name: string;
  readonly project_id?: string | null | undefined;
  readonly path?: string | null | undefined;
}

export interface ProjectsOptions extends ProjectServices {
  /** The projects folder. */
  readonly folder: string;
  /** Whether projects may lie outside the projects folder. */
  readonly allowAnyPath: boolean;
}

export class Projects {
  readonly #options: ProjectsOptions;
  readonly #projects = new Map<string, Project>();
  readonly #lane: Lane;
  readonly #namesBeingMade = new Set<string>();
  #nextOrder = 0;

  constructor(options: ProjectsOptions) {
    this.#options = options;
    this.#lane = new Lane(options.store);
  }

  /** Finds what there is, takes over outside edits, and opens what is to be open. */
  async start(): Promise<void> {
    await finishRemovals(this.#options, this.#options.folder);
    await this.#loadKnown();
    await this.#findNew();
    for (const project of this.#projects.values()) {
      if (!project.record.settings.auto_open) continue;
      project.open().catch((error: unknown) => {
        this.#options.log.error({ err: error, project: project.id }, 'the project could not be opened');
      });
    }
  }

  /** Forgets closed projects whose folder is gone, and finds new ones. */
  reload(): Promise<void> {
    return this.#lane.exclusively(async () => {
      for (const project of this.#projects.values()) {
        if (project.isOpen) continue;
        if (await this.#hasFolder(project.record)) {
          await this.#reconcile(project);
        } else {
          await project.abandon();
          this.#projects.delete(project.id);
        }
      }
      await this.#loadKnown();
      await this.#findNew();
    });
  }

  /** The projects folder. */
  get folder(): string {
    return this.#options.folder;
  }

  get all(): ReadonlyMap<string, Project> {
    return this.#projects;
  }

  /** Runs `work` while no project comes or goes. */
  undisturbed<Result>(work: () => Promise<Result>): Promise<Result> {
    return this.#lane.exclusively(work);
  }

  list(): string {
    return `[${[...this.#projects.values()].map((project) => project.text).join(',')}]`;
  }

  find(id: string): Project {
    const project = this.#projects.get(id);
    if (project === undefined) throw refusals.projectUnknown(id);
    return project;
  }

  create(wanted: NewProject): Promise<string> {
    return this.#lane.exclusively(async () => {
      const known = wanted.project_id == null ? undefined : this.#projects.get(wanted.project_id);
      if (known !== undefined) return known.text;
      this.checkName(wanted.name, undefined);
      const id = wanted.project_id ?? randomUUID();
      const path = await this.#placeFor(id, wanted);
      this.#namesBeingMade.add(wanted.name);
      try {
        return await this.#make(id, path, wanted);
      } finally {
        this.#namesBeingMade.delete(wanted.name);
      }
    });
  }

  /** Opens a topology file anywhere on this machine. */
  async load(path: string): Promise<string> {
    const file = resolve(path);
    const known = [...this.#projects.values()].find(
      ({ place }) => join(place.folder, place.filename) === file,
    );
    if (known !== undefined) return known.open();
    const project = await this.#lane.exclusively(async () => {
      const { files } = this.#options;
      const imported = await files.run('importTopology', { path: file, order: this.#nextOrder });
      const taken = this.#projects.get(imported.projectId);
      return taken ?? this.#adopt(imported);
    });
    return project.open();
  }

  async delete(id: string): Promise<void> {
    const project = this.find(id);
    if (!isBelow(this.#options.folder, project.record.path)) {
      await project.close();
      throw refusals.projectOutside(project.name, this.#options.folder);
    }
    await project.remove();
    this.#projects.delete(id);
  }

  /** Refuses a name that another project has or that cannot be a file's name. */
  checkName(name: string, ownId: string | undefined): void {
    checkFit(name);
    if (this.#isTaken(name, ownId)) throw refusals.projectExists(name);
  }

  checkPath(path: string): void {
    if (!this.#options.allowAnyPath || !isAbsolute(path) || path.includes('"'))
      throw refusals.projectPathRefused();
  }

  /** Where a project with this id will lie. Refuses a place that is taken, and (409) an id that a project has. */
  async freePlace(id: string, wanted: string | null): Promise<string> {
    if (this.#projects.has(id)) throw refusals.importOverProject(id);
    const path = await this.#placeFor(id, { path: wanted });
    const isFilled = await this.#options.files.run('hasFilledFolder', { folder: path });
    if (isFilled) throw refusals.projectPathExists(path);
    return path;
  }

  /** Takes in a project that lies ready, closed, under a name that no other has. All of it or nothing. */
  takeIn(id: string, wantedName: string, ready: ReadyProject): Promise<string> {
    return this.#lane.exclusively(async () => {
      const place = await this.freePlace(id, ready.place);
      const name = freeName(wantedName, (taken) => this.#isTaken(taken, undefined));
      const imported = await ready.finish({ place, name, order: this.#nextOrder });
      const project = await this.#adopt(imported, () => ready.settle(place));
      this.#options.announcements.emit('project.created', project.text);
      return project.text;
    });
  }

  /** Closes everything, for the end of the server. */
  async close(): Promise<void> {
    await Promise.all([...this.#projects.values()].map((project) => project.close()));
    await Promise.all([...this.#projects.values()].map((project) => project.flush()));
  }

  async #make(id: string, path: string, wanted: NewProject): Promise<string> {
    const { project_id, path: wantedPath, ...settings } = wanted;
    const record: ProjectRecord = {
      order: this.#nextOrder++,
      path,
      filename: `${wanted.name}.gns3`,
      settings: projectSettings.parse(settings),
      computes: [],
    };
    const project = await makeProject(id, record, this.#options);
    this.#projects.set(id, project);
    return project.text;
  }

  #isTaken(name: string, ownId: string | undefined): boolean {
    if (this.#namesBeingMade.has(name)) return true;
    return [...this.#projects.values()].some((other) => other.id !== ownId && other.name === name);
  }

  async #placeFor(id: string, wanted: Pick<NewProject, 'path' | 'project_id'>): Promise<string> {
    const { folder, files } = this.#options;
    const usual = join(folder, id);
    if (wanted.path == null || resolve(wanted.path) === usual) return usual;
    const path = resolve(wanted.path);
    if (path.includes('"')) throw refusals.projectPathRefused();
    if (!isBelow(folder, path)) this.checkPath(wanted.path);
    else if (dirname(path) !== folder) throw refusals.projectPathRefused();
    if (wanted.project_id == null && (await files.run('hasFilledFolder', { folder: path }))) {
      throw refusals.projectPathExists(path);
    }
    if ([...this.#projects.values()].some((project) => project.record.path === path)) {
      throw refusals.projectPathExists(path);
    }
    return path;
  }

  async #loadKnown(): Promise<void> {
    const grouped = new Map<string, Awaited<ReturnType<ProjectServices['store']['load']>>>();
    for (const record of await this.#options.store.load(HEADS)) {
      const id = record.key[1] ?? '';
      grouped.set(id, [...(grouped.get(id) ?? []), record]);
    }
    const states = [...grouped].flatMap(([id, records]) => {
      const state = sortOut(records);
      return state === undefined ? [] : [{ id, state }];
    });
    states.sort((a, b) => a.state.project.order - b.state.project.order);
    for (const { id, state } of states) {
      this.#nextOrder = Math.max(this.#nextOrder, state.project.order + 1);
      if (this.#projects.has(id) || !(await this.#hasFolder(state.project))) continue;
      const project = new Project(id, state, this.#options);
      this.#projects.set(id, project);
      await this.#reconcile(project);
    }
  }

  /** What cannot be taken in now is tried again at the next start or reload. */
  async #findNew(): Promise<void> {
    const { files, folder, log } = this.#options;
    const known = [...this.#projects.values()].map((project) => project.record.path);
    const findings = await files.run('findProjects', { projects: folder, known, order: this.#nextOrder });
    for (const finding of findings) {
      if (finding.found === 'unreadable') {
        log.warn({ folder: finding.folder }, finding.reason);
        this.#showUnreadable(finding);
      } else if (this.#projects.has(finding.imported.projectId)) {
        log.warn({ folder: finding.imported.project.path }, 'a second folder of a known project is ignored');
      } else {
        await this.#adopt(finding.imported).catch((error: unknown) => {
          log.error({ err: error, folder: finding.imported.project.path }, 'a project cannot be taken in');
        });
      }
    }
  }

  async #adopt(imported: ImportedProject, settle = (): Promise<void> => Promise.resolve()): Promise<Project> {
    const project = await takeInProject(imported, this.#options, settle);
    this.#projects.set(project.id, project);
    this.#nextOrder = Math.max(this.#nextOrder, imported.project.order + 1);
    return project;
  }

  /** Listed so that opening it can say what is wrong; nothing of it is stored. */
  #showUnreadable({ folder, filename, identity }: Extract<Finding, { found: 'unreadable' }>): void {
    if (identity === undefined || this.#projects.has(identity.projectId)) return;
    const record: ProjectRecord = {
      order: this.#nextOrder++,
      path: folder,
      filename,
      settings: projectSettings.parse({ name: identity.name }),
      computes: [],
    };
    const state = { project: record, file: { ...NEVER_WRITTEN, version: 0 }, version: 0 };
    this.#projects.set(identity.projectId, new Project(identity.projectId, state, this.#options));
  }

  /** A file that cannot be read is reported again, to the client, when the project is opened. */
  async #reconcile(project: Project): Promise<void> {
    await project.reconcile().catch((error: unknown) => {
      this.#options.log.warn({ err: error, project: project.id }, 'the project file cannot be read');
    });
  }

  /** An empty folder counts: what is stored of its project may have been acknowledged before the first file. */
  #hasFolder(record: ProjectRecord): Promise<boolean> {
    return this.#options.files.run('hasFolder', { folder: record.path });
  }
}
