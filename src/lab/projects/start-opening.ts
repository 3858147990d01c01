/** Projects that are opened by the server itself: at its start, and when it takes one over. */
import type { Logger } from 'pino';
import type { Project } from './project.js';

/** Also projects that were open when the last server died, but not one whose opening may have killed two. */
export function isToBeOpen(project: Project): boolean {
  const { openStateAtStart: before, record } = project;
  if (before !== 'opening again') return before !== undefined || record.settings.auto_open;
  project.warn(
    'The server ended twice while this project was being opened, so it is not opened by itself: open it by hand',
  );
  return false;
}

/** Opens one after the other: if one kills the server, the others are open or untouched. */
export async function openAll(
  projects: readonly Project[],
  isClosing: () => boolean,
  log: Pick<Logger, 'error'>,
): Promise<void> {
  for (const project of projects) {
    if (isClosing()) return;
    await project.openAtStart().catch((error: unknown) => {
      log.error({ err: error, project: project.id }, 'the project could not be opened');
    });
  }
}
