/**
 * The projects of the controller: those of the store whose folder is there, and those found in the projects folder.
 * A project whose folder is gone is not shown, but its records are kept in case the folder comes back.
 */
import { randomUUID } from 'node:crypto';
import { dirname, join, resolve } from 'node:path';
import { refusals } from '../../base/errors/errors.js';
import { isBelow } from '../../base/disk/path-order.js';
import { Admissions } from './admissions.js';
import { AsideFolders } from './aside-folders.js';
import { namesOf, orderAfter, projectList, type ProjectHold } from './elsewhere.js';
import type { Finding } from './folder-tasks.js';
import { Lane } from './lane.js';
import { finishOlderLayout } from './older-layout.js';
import {
  makeProject,
  removeProject,
  takeInProject,
  unreadableProject,
  type ProjectClaim,
  type ReadyProject,
} from './project-lifetime.js';
import { OwnedNames } from './owned-names.js';
import { ProjectPlaces } from './project-places.js';
import { Project } from './project.js';
import { isToBeOpen, openAll } from './start-opening.js';
import type { ProjectServices, StoredProject } from './project-state.js';
import type { Gns3Place } from '../gns3-file/mirror.js';
import { headKey, HEADS, projectKey, sortOut, sortOutAll, type ProjectRecord } from './records.js';
import type { StoredRecord } from '../../base/store/store.js';
import type { ImportedProject } from '../gns3-file/reading.js';
import { projectSettings, type ProjectSettings } from '../gns3-file/topology-schema.js';

interface NewProject extends Partial<ProjectSettings> {
  readonly name: string;
  readonly project_id?: string | null | undefined;
  readonly path?: string | null | undefined;
}

type UnreadableFolder = Extract<Finding, { found: 'unreadable' }>;

interface ProjectsOptions extends ProjectServices {
  /** The projects folder. */
  readonly folder: string;
  /** Whether projects may lie outside the projects folder. */
  readonly allowAnyPath: boolean;
  /** The users who own a project. */
  readonly ownersOf: (projectId: string) => readonly string[];
}

export class Projects {
  /** The folders of projects that are being made or deleted. */
  readonly asides: AsideFolders;
  readonly #options: ProjectsOptions;
  readonly #projects = new Map<string, Project>();
  readonly #places: ProjectPlaces;
  readonly #admissions: Admissions;
  readonly #lane: Lane;
  readonly #names: OwnedNames;
  #nextOrder = 0;
  #isClosing = false;
  #opened: Promise<void> = Promise.resolve();

  constructor(options: ProjectsOptions) {
    this.#options = options;
    this.#lane = new Lane(options.store);
    this.asides = new AsideFolders(options, options.folder);
    this.#places = new ProjectPlaces({ ...options, projects: this.#projects });
    this.#admissions = new Admissions({
      ...{ services: options, lane: this.#lane, projects: this.#projects },
      placeOf: (id) => this.#places.choose(id, null),
      add: this.#add,
      prepare: (project) => this.#reconcile(project),
    });
    this.#names = new OwnedNames({ ...options, projects: namesOf(this.#projects, options.elsewhere) });
  }

  /** Finds the projects, takes over edits of other programs, and begins to open those that should be open. In a farm, all come by `admit`. */
  async start(): Promise<void> {
    await finishOlderLayout(this.#options, this.#options.folder);
    await this.asides.finish();
    if (this.#options.elsewhere !== undefined) return;
    await this.#loadKnown();
    const known = this.#projects.size;
    await this.#findNew();
    if (known === 0 && this.#projects.size > 0) {
      this.#options.log.info(
        { projects: this.#projects.size },
        'the store knew no project: those in the projects folder were taken in from their topology files',
      );
    }
    for (const project of this.#projects.values()) {
      await project.tidy().catch((error: unknown) => {
        this.#options.log.warn({ err: error, project: project.id }, 'what was on its way cannot be removed');
      });
    }
    this.#opened = this.#openAll([...this.#projects.values()].filter(isToBeOpen));
  }

  /** Resolves when each of the projects that should be open is, or cannot be. */
  get opened(): Promise<void> {
    return this.#opened;
  }

  /** Forgets closed projects whose folder is gone, and finds new ones. */
  async reload(): Promise<void> {
    if (this.#options.elsewhere !== undefined) return;
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

  /** The list of the projects that a client sees. */
  list(isSeen: (id: string) => boolean): string {
    return projectList(this.#projects, this.#options.elsewhere, isSeen);
  }

  /** Whether there is a project with this id, also one that another server was acknowledged just now. */
  async isKnown(id: string): Promise<boolean> {
    if (!this.#projects.has(id)) await this.#options.store.others?.catchUp();
    return this.#textOf(id) !== undefined;
  }

  #textOf(id: string): string | undefined {
    return this.#projects.get(id)?.text ?? this.#options.elsewhere?.listed.get(id)?.text;
  }

  find(id: string): Project {
    const project = this.#projects.get(id);
    if (project === undefined) throw refusals.projectUnknown(id);
    return project;
  }

  /** `claim` makes the project somebody's, before anybody sees it. */
  create(wanted: NewProject, claim: ProjectClaim): Promise<string> {
    return this.#lane.exclusively(async () => {
      const known = wanted.project_id == null ? undefined : this.#textOf(wanted.project_id);
      if (known !== undefined) return known;
      this.#options.intake.check();
      this.#names.checkNew(wanted.name, claim);
      const id = wanted.project_id ?? randomUUID();
      const path = this.#places.choose(id, wanted.path);
      if (wanted.project_id == null) await this.#refuseFilled(path);
      await this.#places.checkAlone(id, path);
      const project = await this.#admissions.make(id, (services) =>
        this.#names.whileMade(wanted.name, claim, async () => {
          await claim.make(id);
          return makeProject(id, this.#newRecord(path, wanted), services);
        }),
      );
      return project.text;
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
      if (taken !== undefined) return taken;
      await this.#places.checkAlone(imported.projectId, dirname(file));
      return this.#admissions.make(imported.projectId, (services) => this.#adopt(imported, services));
    });
    return project.open();
  }

  /** Points a project at another folder. */
  move(id: string, wanted: string): Promise<void> {
    this.checkPath(wanted);
    return this.#lane.exclusively(async () => {
      const path = this.#places.choose(id, wanted);
      await this.#places.checkAlone(id, path);
      await this.find(id).move(path);
    });
  }

  /**
   * Another project can have the id as soon as this one is forgotten: `forget` is called then, for what others know of it. When
   * it resolves the files are gone.
   */
  async delete(id: string, forget: () => void): Promise<void> {
    const aside = await this.#lane.exclusively(async () => {
      const project = this.find(id);
      const { path } = project.record;
      if (!isBelow(this.#options.folder, path)) {
        await project.close();
        throw refusals.projectOutside(project.name, this.#options.folder);
      }
      await this.#places.checkAlone(id, path);
      return removeProject(project, this.#options, this.asides, () => {
        this.#projects.delete(id);
        forget();
        this.#options.elsewhere?.end(id);
      });
    });
    await this.asides.remove(aside);
  }

  /** Changes a project. Refuses a name that another project of an owner has, or that cannot be a file's name. */
  change(id: string, given: Partial<ProjectSettings>): Promise<string> {
    const project = this.find(id);
    const { name } = given;
    const update = (): Promise<string> => project.update(given);
    if (name === undefined || name === project.name) return update();
    return this.#names.whileNamed(id, name, update);
  }

  /** Stores that a project has one more owner. Refuses (409) one who has another project of this name. */
  share(id: string, userId: string, store: () => Promise<void>): Promise<void> {
    return this.#lane.exclusively(() => this.#names.whileShared(id, this.find(id).name, userId, store));
  }

  /** Refuses a path outside the projects folder that no client may name. */
  checkPath(path: string): void {
    this.#places.checkPath(path);
  }

  /** The path for a project with this id. Refuses a path that is taken, and (409) an id that a project has. */
  async freePlace(id: string, wanted: string | null): Promise<string> {
    if (this.#projects.has(id)) throw refusals.importOverProject(id);
    const path = this.#places.choose(id, wanted);
    await this.#places.checkAlone(id, path);
    await this.#refuseFilled(path);
    return path;
  }

  /** Adds a project whose folder lies ready, closed, under a name that no other has: completely or not at all. */
  takeIn(id: string, wantedName: string, ready: ReadyProject): Promise<string> {
    return this.#lane.exclusively(async () => {
      const place = await this.freePlace(id, ready.place);
      const settle = (): Promise<void> => ready.settle(place);
      const project = await this.#admissions.make(id, (services) =>
        this.#names.whileFree(wantedName, ready.claim, async (name) => {
          await ready.claim.make(id);
          const imported = await ready.finish({ place, name, order: this.#takeOrder() });
          return takeInProject(imported, services, { aside: ready.aside, settle });
        }),
      );
      this.#options.announcements.emit('project.created', project.text, id);
      return project.text;
    });
  }

  /** Takes a project that has become this server's, and has it opened if it should be. Its folder need not be there. */
  async admit(id: string, records: readonly StoredRecord[], hold: ProjectHold): Promise<void> {
    const project = await this.#admissions.admit(id, records, hold);
    if (project !== undefined && isToBeOpen(project)) await (this.#opened = this.#openAll([project]));
  }

  /** Forgets a project that another server may have by now. */
  dismiss(id: string): Promise<void> {
    return this.#admissions.dismiss(id);
  }

  /** Closes all projects, for the end of the server. */
  async close(reopens: (projectId: string) => boolean): Promise<void> {
    this.#isClosing = true;
    this.#admissions.close();
    await Promise.all([...this.#projects.values()].map((project) => project.close(reopens(project.id))));
    await Promise.all([...this.#projects.values()].map((project) => project.flush()));
  }

  #newRecord(path: string, wanted: NewProject): ProjectRecord {
    const { project_id, path: wantedPath, ...settings } = wanted;
    return {
      order: this.#takeOrder(),
      path,
      filename: `${wanted.name}.gns3`,
      settings: projectSettings.parse(settings),
      computes: [],
    };
  }

  #takeOrder(): number {
    this.#nextOrder = orderAfter(this.#options.elsewhere, this.#nextOrder) + 1;
    return this.#nextOrder - 1;
  }

  async #refuseFilled(path: string): Promise<void> {
    const isFilled = await this.#options.files.run('hasFilledFolder', { folder: path });
    if (isFilled) throw refusals.projectPathExists(path);
  }

  #openAll(projects: readonly Project[]): Promise<void> {
    return openAll(projects, () => this.#isClosing, this.#options.log);
  }

  async #loadKnown(): Promise<void> {
    for (const { id, state } of sortOutAll(await this.#options.store.load(HEADS))) {
      this.#nextOrder = Math.max(this.#nextOrder, state.project.order + 1);
      if (this.#projects.has(id) || !(await this.#hasFolder(state.project))) continue;
      const project = new Project(id, state, this.#options);
      this.#projects.set(id, project);
      await this.#reconcile(project);
    }
  }

  /** Takes in folders that the store does not know. Those that fail are tried again at the next start or reload. */
  async #findNew(): Promise<void> {
    const { files, folder, log } = this.#options;
    const known = [...this.#projects.values()].map((project) => project.record.path);
    const findings = await files.run('findProjects', { projects: folder, known, order: this.#nextOrder });
    for (const finding of findings) {
      if (finding.found === 'unreadable') {
        log.warn({ folder: finding.folder }, finding.reason);
        await this.#showUnreadable(finding);
      } else if (this.#projects.has(finding.imported.projectId)) {
        log.warn({ folder: finding.imported.project.path }, 'a second folder of a known project is ignored');
      } else {
        await this.#adopt(finding.imported, this.#options).catch((error: unknown) => {
          log.error({ err: error, folder: finding.imported.project.path }, 'a project cannot be taken in');
        });
      }
    }
  }

  /**
   * Takes in the project of a folder that was found. If the store knows the project, its folder was moved: its records
   * are kept, and its file is compared with them like that of any known project.
   */
  async #adopt(imported: ImportedProject, services: ProjectServices): Promise<Project> {
    const { path, filename } = imported.project;
    const moved = await this.#relocate(imported.projectId, { folder: path, filename }, services);
    if (moved !== undefined) return moved;
    const taken = await takeInProject(imported, services);
    this.#add(taken);
    return taken;
  }

  /** Points a known project at the folder that it was found in. Undefined when the store does not know the project. */
  async #relocate(id: string, place: Gns3Place, services: ProjectServices): Promise<Project | undefined> {
    const { folder: path, filename } = place;
    const { store, log } = services;
    const state: StoredProject | undefined = sortOut(await store.load(headKey(id)));
    if (state === undefined) return undefined;
    const record = { ...state.project, path, filename };
    await store.commit([{ put: projectKey(id), value: record }]);
    log.warn({ project: id, from: state.project.path, to: path }, 'a project is kept: its folder was moved');
    const project = new Project(id, { ...state, project: record }, services);
    this.#add(project);
    await this.#reconcile(project);
    return project;
  }

  readonly #add = (project: Project): void => {
    this.#projects.set(project.id, project);
    this.#nextOrder = Math.max(this.#nextOrder, project.record.order + 1);
  };

  /** Lists a project that cannot be read, so that opening it reports the reason. Nothing of it is stored. */
  async #showUnreadable({ folder, filename, identity }: UnreadableFolder): Promise<void> {
    if (identity === undefined || this.#projects.has(identity.projectId)) return;
    if ((await this.#relocate(identity.projectId, { folder, filename }, this.#options)) !== undefined) return;
    this.#add(unreadableProject(identity, { order: this.#nextOrder, path: folder, filename }, this.#options));
  }

  /** Only logs a file that cannot be read: a client gets the reason when it opens the project. */
  async #reconcile(project: Project): Promise<void> {
    await project.reconcile().catch((error: unknown) => {
      this.#options.log.warn({ err: error, project: project.id }, 'the project file cannot be read');
    });
  }

  /** An empty folder counts, too: changes may have been acknowledged before the first file was written. */
  #hasFolder(record: ProjectRecord): Promise<boolean> {
    return this.#options.files.run('hasFolder', { folder: record.path });
  }
}
