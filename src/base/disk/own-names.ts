/**
 * The names that are the server's own, in a project's folder and wherever else clients name files: no client writes what
 * is called so, and no archive, copy or snapshot brings it. Pure.
 */

export const SNAPSHOTS = 'snapshots';
/** For files on their way. */
export const TEMPORARY = 'tmp';
/** In the projects folder, where no project is called so, for what belongs to no one project. */
export const OWN_FOLDER = '.wirefarm';
export const EXTENSION = '.gns3';

/** With all that is in them. */
export const OWN_FOLDERS = [SNAPSHOTS, TEMPORARY, OWN_FOLDER] as const;

/** What a client wants of a path. Topology files are for reading. */
export type Doing = 'read' | 'write';

/** Whether the path, which is relative and normal, is the server's own, or leads to what is. */
export function isOwnPath(path: string, doing: Doing = 'write'): boolean {
  const top = foldedName(path.split('/', 1)[0] ?? '');
  return isOwnFolder(top) || (doing === 'write' && top.endsWith(EXTENSION));
}

function isOwnFolder(folded: string): boolean {
  return OWN_FOLDERS.some((own) => own === folded);
}

/**
 * File systems differ in which names they take for the same: by case, by the form of characters, by characters that
 * cannot be seen, and by dots and spaces at the end. Here all of that is the same.
 */
export function foldedName(name: string): string {
  const folded = name
    .normalize('NFKC')
    .replace(/\p{Default_Ignorable_Code_Point}/gu, '')
    .toLowerCase();
  let end = folded.length;
  while (end > 0 && (folded[end - 1] === '.' || folded[end - 1] === ' ')) end--;
  return folded.slice(0, end);
}
