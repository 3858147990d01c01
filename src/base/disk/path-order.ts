import { sep } from 'node:path';

/** Whether `path` lies strictly below `folder`; both absolute and normal. */
export function isBelow(folder: string, path: string): boolean {
  return path.startsWith(folder.endsWith(sep) ? folder : folder + sep) && path !== folder;
}
