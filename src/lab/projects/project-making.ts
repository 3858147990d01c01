/** How a project comes to be: made new, or taken in from a folder that lies ready. All of it or nothing. */
import { packChanges } from '../../base/store/packing.js';
import { noteAside, type AsideFolder } from './aside-folders.js';
import { Project } from './project.js';
import type { ProjectServices } from './project-services.js';
import { forgetting, NEVER_WRITTEN, projectKey, versionKey, type ProjectRecord } from './records.js';
import type { ImportedProject } from '../gns3-file/topology-import.js';

/** A project that lies in a folder beside its place. */
export interface ReadyProject {
  /** Outside the projects folder; null for the usual place. */
  readonly place: string | null;
  /** The folder. */
  readonly aside: AsideFolder;
  /** Writes its topology file; returns what the store is to hold for it. */
  readonly finish: (head: { place: string; name: string; order: number }) => Promise<ImportedProject>;
  /** Gives the folder its place, in one step. */
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
  // A folder that has something in it is not ours to remove when the project cannot be made.
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
 * Stores what was read of a folder that is in its place, or that gets it now: `settle` may still refuse, and then nothing
 * is stored. The store forgets the project of a folder that a crash leaves aside.
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
