/**
 * Makes a new project, takes one in from a folder that lies ready, and removes one together with its folder. Each happens
 * completely or not at all.
 */
import { packChanges } from '../../base/store/packing.js';
import { noteAside, type AsideFolder, type AsideFolders } from './aside-folders.js';
import { Project } from './project.js';
import type { ProjectServices } from './project-state.js';
import {
  forgetting,
  removing,
  NEVER_WRITTEN,
  projectKey,
  versionKey,
  type LabRecords,
  type ProjectRecord,
} from './records.js';
import type { ImportedProject } from '../gns3-file/reading.js';
import { projectSettings } from '../gns3-file/topology-schema.js';

/** The claim by which a new project becomes somebody's. */
export interface ProjectClaim {
  /** The user who owns the project then; undefined for nobody. */
  readonly userId: string | undefined;
  readonly make: (projectId: string) => Promise<void>;
}

/** A new project whose folder lies beside its place. */
export interface ReadyProject {
  /** A place outside the projects folder; null for the usual place. */
  readonly place: string | null;
  readonly claim: ProjectClaim;
  /** The folder. */
  readonly aside: AsideFolder;
  /** Writes the topology file; returns the records for the store. */
  readonly finish: (head: { place: string; name: string; order: number }) => Promise<ImportedProject>;
  /** Moves the folder to its place, in one step. */
  readonly settle: (place: string) => Promise<void>;
}

/** Makes the project in a folder of its own, and opens it. */
export async function makeProject(
  id: string,
  record: ProjectRecord,
  services: ProjectServices,
): Promise<Project> {
  const { files, store } = services;
  const { path } = record;
  // If the project cannot be made its folder is removed, unless it had something in it before.
  const isOurs = !(await files.run('hasFilledFolder', { folder: path }));
  await files.run('makeFolder', { folder: path });
  let project: Project | undefined;
  try {
    await store.commit([
      ...forgetting(id),
      { put: projectKey(id), value: record },
      { put: versionKey(id), value: 1 },
    ]);
    project = new Project(id, { project: record, file: NEVER_WRITTEN, version: 1 }, services);
    await project.openNew();
    return project;
  } catch (error) {
    await project?.abandon();
    if (isOurs) await files.run('removeTree', { folder: path });
    await store.commit(forgetting(id)).catch(() => undefined);
    throw error;
  }
}

/**
 * Stores a project that was read from a folder. The folder is in its place already, or `settle` moves it there; when that
 * is refused nothing stays stored. If a crash leaves the folder aside, the store forgets the project at the next start.
 */
export async function takeInProject(
  imported: ImportedProject,
  { store, ...services }: ProjectServices,
  making?: { readonly aside: AsideFolder; readonly settle: () => Promise<void> },
): Promise<Project> {
  const { projectId: id, file } = imported;
  const noted = making === undefined ? [] : [noteAside(making.aside, id)];
  await store.commitPacked(packChanges([...forgetting(id), ...noted]), imported.changes);
  try {
    await making?.settle();
  } catch (error) {
    await store.commit(forgetting(id)).catch(() => undefined);
    throw error;
  }
  return new Project(id, { ...imported, version: file.version }, { store, ...services });
}

/** A project that was another server's, in its folder on this host, which need not be there yet. */
export async function admitProject(
  id: string,
  state: LabRecords,
  path: string,
  services: ProjectServices,
): Promise<Project> {
  await services.files.run('makeFolder', { folder: path });
  return new Project(id, { ...state, project: { ...state.project, path } }, services);
}

/** A project whose file cannot be read: opening it reports the reason. Nothing of it is stored. */
export function unreadableProject(
  { projectId, name }: { readonly projectId: string; readonly name: string },
  place: Pick<ProjectRecord, 'order' | 'path' | 'filename'>,
  services: ProjectServices,
): Project {
  const record = { ...place, settings: projectSettings.parse({ name }), computes: [] };
  const state = { project: record, file: { ...NEVER_WRITTEN, version: 0 }, version: 0 };
  return new Project(projectId, state, services);
}

/**
 * Removes a project. Its folder is moved aside, for the caller to delete. A crash before the move changes nothing; after
 * it the next start completes the removal.
 */
export function removeProject(
  project: Project,
  { files, store, log }: Pick<ProjectServices, 'files' | 'store' | 'log'>,
  asides: AsideFolders,
  onForgotten: () => void,
): Promise<AsideFolder> {
  const { id } = project;
  return project.remove(async (leave) => {
    const { path } = project.record;
    const aside = await asides.beginRemoval(id);
    try {
      await leave();
      await files.run('moveFolder', { from: path, to: aside.folder });
      await store.commit([...removing(id), noteAside(aside, null)]);
      return aside;
    } catch (error) {
      log.warn({ err: error, project: id }, 'the project could not be deleted');
      await files.run('moveFolder', { from: aside.folder, to: path });
      await asides.end(aside);
      throw error;
    }
  }, onForgotten);
}
