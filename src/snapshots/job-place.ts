/** Where a job on a project works. Pure. */
import { join } from 'node:path';
import { WORK } from '../lab/projects/folder-layout.js';

export interface JobPlace {
  /** The project's folder. */
  readonly root: string;
  /** For files; absolute, in the project's folder and so on its file system. */
  readonly workFolder: string;
  /** For what the tasks of the job tell each other; absolute, outside of every project. */
  readonly notes: string;
}

/** `notes` is the folder for those of all jobs. */
export function jobPlace(notes: string, root: string, id: string): JobPlace {
  return { root, workFolder: join(root, WORK, id), notes: join(notes, id) };
}
