/**
 * Projects that come to this server and go from it while it runs, where several servers share one store. Each life of a
 * project here has its own hold on it; the next one begins when everything of the last has ended.
 */
import { refusals } from '../../base/errors/errors.js';
import type { StoredRecord } from '../../base/store/store.js';
import type { ProjectHold } from './elsewhere.js';
import type { Lane } from './lane.js';
import { admitProject } from './project-lifetime.js';
import type { ProjectServices } from './project-state.js';
import type { Project } from './project.js';
import { sortOut } from './records.js';

/** A project that is closed for longer than this, and for less than twice as long, is given back. */
const GIVEN_BACK_MS = 120_000;

interface AdmissionsOptions {
  readonly services: ProjectServices;
  /** The lane of all projects. */
  readonly lane: Lane;
  readonly projects: Map<string, Project>;
  readonly placeOf: (projectId: string) => string;
  readonly add: (project: Project) => void;
  /** Makes ready what is on the disk of a project that has come. */
  readonly prepare: (project: Project) => Promise<void>;
}

export class Admissions {
  readonly #options: AdmissionsOptions;
  /** Projects that are ending because another server may have them. */
  readonly #leaving = new Map<string, Promise<void>>();
  /** The projects that were closed at the last look. */
  #closed = new Set<Project>();
  #looking: NodeJS.Timeout | undefined;

  constructor(options: AdmissionsOptions) {
    this.#options = options;
  }

  /**
   * Makes a new project with the services for it. One that is lost before it is whole does not stay. Refuses (503) one that
   * there is already, and that is on its way here.
   */
  async make(id: string, work: (services: ProjectServices) => Promise<Project>): Promise<Project> {
    const { services, add } = this.#options;
    const { elsewhere } = services;
    if (elsewhere === undefined) {
      const project = await work(services);
      add(project);
      return project;
    }
    const hold = await elsewhere.begin(id);
    if (hold === undefined) throw refusals.claimLost(id);
    try {
      await this.#leaving.get(id);
      const project = await work({ ...services, store: hold.store, hold });
      add(project);
      if (hold.isOver()) void this.dismiss(id);
      this.#look();
      return project;
    } catch (error) {
      if (!hold.isOver()) elsewhere.end(id);
      throw error;
    }
  }

  /** Takes a project that has become this server's. Gives back one that there is not, or not any more. */
  admit(id: string, records: readonly StoredRecord[], hold: ProjectHold): Promise<Project | undefined> {
    const { services, lane, projects, placeOf, add, prepare } = this.#options;
    return lane.exclusively(async () => {
      if (hold.isOver() || projects.has(id)) return undefined;
      const state = sortOut(records);
      if (state === undefined) {
        services.elsewhere?.end(id);
        return undefined;
      }
      await this.#leaving.get(id);
      const project = await admitProject(id, state, placeOf(id), { ...services, store: hold.store, hold });
      if (hold.isOver()) {
        await project.abandon();
        return undefined;
      }
      add(project);
      await prepare(project);
      this.#look();
      return project;
    });
  }

  /** Forgets a project that another server may have by now. Resolves when it has ended here. */
  dismiss(id: string): Promise<void> {
    const { projects } = this.#options;
    const project = projects.get(id);
    if (project === undefined) return this.#leaving.get(id) ?? Promise.resolve();
    projects.delete(id);
    const left = project.leave().finally(() => {
      if (this.#leaving.get(id) === left) this.#leaving.delete(id);
    });
    this.#leaving.set(id, left);
    return left;
  }

  close(): void {
    clearTimeout(this.#looking);
  }

  /** Looks again later, as long as there are projects. */
  #look(): void {
    this.#looking ??= setTimeout(() => void this.#giveBack(), GIVEN_BACK_MS).unref();
  }

  /** Lets others have the projects that were closed at the last look, and are. */
  async #giveBack(): Promise<void> {
    const { lane, projects, services } = this.#options;
    this.#looking = undefined;
    const isIdle = (project: Project): boolean => !project.isOpen && !project.isInUse;
    for (const project of this.#closed) {
      await lane.exclusively(async () => {
        if (projects.get(project.id) !== project || !isIdle(project)) return;
        await project.flush();
        await project.settled();
        if (!isIdle(project)) return;
        await this.dismiss(project.id);
        services.elsewhere?.end(project.id);
      });
    }
    this.#closed = new Set([...projects.values()].filter(isIdle));
    if (projects.size > 0) this.#look();
  }
}
