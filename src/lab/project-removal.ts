/**
 * How a project goes for good: its folder is put aside, the store forgets it, and the folder is removed. So goes, too,
 * what a project was to be made of when the server ended.
 */
import type { ProjectServices } from './project-services.js';
import { forgetting } from './records.js';

/** A crash on the way leaves the folder under its name for trash, with which the next start completes it. */
export async function forgetProject(
  { files, store }: Pick<ProjectServices, 'files' | 'store'>,
  projectId: string,
  folder: string,
  onForgotten: () => void,
): Promise<void> {
  const trash = await files.run('trashFolder', { folder, projectId });
  try {
    await store.commit(forgetting(projectId));
  } catch {
    // A full disk: the folder has the room that the store needs to forget.
    await files.run('removeTree', { folder: trash });
    await store.commit(forgetting(projectId));
  }
  onForgotten();
  await files.run('removeTree', { folder: trash });
}

/** Completes what the last end of the server has interrupted. */
export async function finishRemovals(
  { files, store, log }: Pick<ProjectServices, 'files' | 'store' | 'log'>,
  projects: string,
): Promise<void> {
  for (const { folder, projectId } of await files.run('findTrash', { projects })) {
    // In this order on a full disk, too: the folder has the room that the store needs to forget.
    await files.run('removeTree', { folder });
    if (projectId === undefined) continue;
    await store.commit(forgetting(projectId)).catch((error: unknown) => {
      log.error({ err: error, project: projectId }, 'a deleted project cannot be forgotten yet');
    });
  }
}
