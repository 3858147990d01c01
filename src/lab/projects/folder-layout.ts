/** Names within the projects folder and within a project's own folder (contract C.1). */
import { OWN_FOLDER, SNAPSHOTS } from '../../base/disk/own-names.js';

export { EXTENSION, OWN_FOLDER, SNAPSHOTS, TEMPORARY } from '../../base/disk/own-names.js';

/** Within the projects folder: folders of projects that are gone, until they are removed. */
export const TRASH = `${OWN_FOLDER}/deleted`;
/** Folders in which projects are being made until they get their place. */
export const MAKINGS = `${OWN_FOLDER}/making`;
/** For archives that are on their way. */
export const INCOMING = `${OWN_FOLDER}/incoming`;
/** For what the tasks of a job tell each other: no path of a client leads there. */
export const NOTES = `${OWN_FOLDER}/work`;
/** Within a project's snapshots, for files on their way to one or from one; emptied at start and at opening. */
export const WORK = `${SNAPSHOTS}/.work`;
/** Where the packets of links are recorded. */
export const CAPTURES = 'project-files/captures';
/** What the names of folders end in from which files take their places; they lie in the temporary folder of a project. */
export const PLACING = '.placing';
