/** Names within the projects folder and within a project's own folder (contract C.1). */

export const SNAPSHOTS = 'snapshots';
/** Within that, for what is on its way to a snapshot or from one; emptied when the project is opened. */
export const WORK = `${SNAPSHOTS}/.work`;
/** For files on their way; emptied when the project is opened or closed. */
export const TEMPORARY = 'tmp';
export const EXTENSION = '.gns3';
/** Folders whose project was deleted wait under this name for their removal; the project's id follows. */
export const TRASH_PREFIX = '.deleted-';
/** Folders in which a project is being made are called so until they get their place; the project's id follows. */
export const MAKING_PREFIX = '.making-';
/** Within the projects folder, for archives that are on their way. */
export const INCOMING = '.incoming';
/** Where the packets of links are recorded. */
export const CAPTURES = 'project-files/captures';
