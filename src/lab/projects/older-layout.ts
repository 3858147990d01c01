/**
 * Clears leftovers of a version that kept temporary folders among the projects, under names that a project could have.
 * Runs once, before the server's own folder is made, and touches no folder of a project.
 */
import { isBelow } from '../../base/disk/path-order.js';
import type { AsideServices } from './aside-folders.js';
import { forgetting, HEADS, type ProjectRecord } from './records.js';

export async function finishOlderLayout(
  { files, store, log }: AsideServices,
  projects: string,
): Promise<void> {
  const leftovers = await files.run('findOlderLeftovers', { projects });
  if (leftovers.length === 0) return;
  const paths = new Map<string, string>();
  for (const { key, value } of await store.load(HEADS)) {
    if (key[2] === 'project') paths.set(key[1] ?? '', (value as ProjectRecord).path);
  }
  for (const { folder, projectId } of leftovers) {
    const place = projectId === undefined ? undefined : paths.get(projectId);
    const isOfProject =
      [...paths.values()].some((path) => path === folder || isBelow(path, folder) || isBelow(folder, path)) ||
      (place !== undefined && (await files.run('isThere', { path: place })));
    if (isOfProject) {
      log.warn(
        { folder },
        'this folder looks like a leftover, but a project has to do with it: it is left alone',
      );
      continue;
    }
    // The folder first: on a full disk the store needs its room to forget the project.
    await files.run('removeTree', { folder });
    if (projectId === undefined || place === undefined) continue;
    await store.commit(forgetting(projectId)).catch((error: unknown) => {
      log.error({ err: error, project: projectId }, 'the store cannot forget a project that was deleted');
    });
  }
}
