/** Names within the projects folder and within a project's own folder. */
import { OWN_FOLDER, SNAPSHOTS } from '../../base/disk/own-names.js';

export { EXTENSION, OWN_FOLDER, SNAPSHOTS, TEMPORARY } from '../../base/disk/own-names.js';

/** Within the projects folder: the folders of deleted projects, until they are removed. */
export const TRASH = `${OWN_FOLDER}/deleted`;
/** Within the projects folder: the folders of new projects, until they get their place. */
export const MAKINGS = `${OWN_FOLDER}/making`;
/** Within the projects folder: archives that are being received. */
export const INCOMING = `${OWN_FOLDER}/incoming`;
/** Within the projects folder: notes that the tasks of a job leave for each other. No path of a client leads there. */
export const NOTES = `${OWN_FOLDER}/work`;
/** Within a project's snapshots: files that a snapshot is made of or restored from. Emptied at start and at opening. */
export const WORK = `${SNAPSHOTS}/.work`;
/** Within a project's folder: the captures of its links. */
export const CAPTURES = 'project-files/captures';
/** Within the folder of a QEMU node: the memory that was saved when the node was stopped. */
export const VM_STATE = 'vm-state';
/** The ending of folders in a project's temporary folder whose files are about to take their places. */
export const PLACING = '.placing';
