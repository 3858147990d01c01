/** Files of a project that snapshots, copies and exports leave out. Paths are relative to the project's folder. */
import { CAPTURES, EXTENSION, SNAPSHOTS, TEMPORARY, VM_STATE } from '../lab/projects/folder-layout.js';
import { isOwnPath } from '../base/disk/own-names.js';

const LEFT_OUT = [CAPTURES, `project-files/${TEMPORARY}`, `project-files/${SNAPSHOTS}`];
const SAVED_MEMORY = new RegExp(`^project-files/qemu/[^/]+/${VM_STATE}$`);

/**
 * Snapshots leave out what the server writes anew, unfinished files, captures, snapshots themselves, and memory that is
 * loaded once only.
 */
export function isLeftOut(path: string): boolean {
  if (path.includes('/')) return LEFT_OUT.includes(path) || SAVED_MEMORY.test(path);
  return isOwnPath(path) || path.includes(`${EXTENSION}.backup`);
}

/** Copies and archives for others leave out logs as well. */
export function isNotExported(path: string): boolean {
  const name = path.slice(path.lastIndexOf('/') + 1);
  return isLeftOut(path) || name.endsWith('_log.txt') || name.endsWith('.log') || name === '.DS_Store';
}
