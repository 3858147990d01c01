/**
 * What a version that had no folder of its own has left in the projects folder: it kept what was on its way under
 * names that a project could have. It is finished once, before our own folder is made, and nothing that a project has.
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
    // In this order on a full disk, too: the folder has the room that the store needs to forget.
    await files.run('removeTree', { folder });
    if (projectId === undefined || place === undefined) continue;
    await store.commit(forgetting(projectId)).catch((error: unknown) => {
      log.error({ err: error, project: projectId }, 'the store cannot forget a project that was deleted');
    });
  }
}
