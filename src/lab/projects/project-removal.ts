/** How a project is forgotten together with its folder, which lies aside then: both of it or nothing. */
import { noteAside, type AsideFolder, type AsideFolders } from './aside-folders.js';
import type { ProjectServices } from './project-services.js';
import { forgetting } from './records.js';

export interface LeavingProject {
  readonly id: string;
  readonly folder: string;
  /** Ends everything that could write to the folder. */
  readonly leave: () => Promise<void>;
}

/** A crash before the folder lies aside changes nothing; after that the next start completes the removal. */
export async function forgetProject(
  { files, store, log }: Pick<ProjectServices, 'files' | 'store' | 'log'>,
  asides: AsideFolders,
  { id, folder, leave }: LeavingProject,
): Promise<AsideFolder> {
  const aside = await asides.beginRemoval(id);
  try {
    await leave();
    await files.run('moveFolder', { from: folder, to: aside.folder });
    await store.commit([...forgetting(id), noteAside(aside, null)]);
    return aside;
  } catch (error) {
    log.warn({ err: error, project: id }, 'the project could not be deleted');
    await files.run('moveFolder', { from: aside.folder, to: folder });
    await asides.end(aside);
    throw error;
  }
}
