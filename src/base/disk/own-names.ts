/**
 * The names that belong to the server, in a project's folder and wherever else clients name files. No client can write
 * files with these names, and no archive, copy or snapshot brings any. Pure.
 */

export const SNAPSHOTS = 'snapshots';
/** Files that are being written lie here. */
export const TEMPORARY = 'tmp';
/** This folder of the projects folder has files that belong to no project; no project has this name. */
export const OWN_FOLDER = '.wirefarm';
export const EXTENSION = '.gns3';

/** All that is in these folders belongs to the server, too. */
export const OWN_FOLDERS = [SNAPSHOTS, TEMPORARY, OWN_FOLDER] as const;

/** The purpose of a client's path. Clients may read topology files, but not write them. */
export type Doing = 'read' | 'write';

/** Whether the path belongs to the server, or leads into a folder that does. It is relative and normal. */
export function isOwnPath(path: string, doing: Doing = 'write'): boolean {
  const top = foldedName(path.split('/', 1)[0] ?? '');
  return isOwnFolder(top) || (doing === 'write' && top.endsWith(EXTENSION));
}

function isOwnFolder(folded: string): boolean {
  return OWN_FOLDERS.some((own) => own === folded);
}

/**
 * Some file systems take names for the same that differ in case, in the form of characters, in invisible characters, or
 * in dots and spaces at the end. All names that any file system takes for the same have the same folded name.
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
