/** Which files of a project are no part of snapshots, copies and exports. Paths are below the project's folder. */
import { CAPTURES, EXTENSION, SNAPSHOTS, TEMPORARY } from '../lab/projects/folder-layout.js';
import { isOwnPath } from '../base/disk/own-names.js';

const LEFT_OUT = [CAPTURES, `project-files/${TEMPORARY}`, `project-files/${SNAPSHOTS}`];

/** What the server writes anew, what is on its way, what was recorded, and snapshots themselves. */
export function isLeftOut(path: string): boolean {
  if (path.includes('/')) return LEFT_OUT.includes(path);
  return isOwnPath(path) || path.includes(`${EXTENSION}.backup`);
}

/** What an archive for others does not have besides (contract C.2). */
export function isNotExported(path: string): boolean {
  const name = path.slice(path.lastIndexOf('/') + 1);
  return isLeftOut(path) || name.endsWith('_log.txt') || name.endsWith('.log') || name === '.DS_Store';
}
