/** The folders of a job on a project. Pure. */
import { join } from 'node:path';
import { WORK } from '../lab/projects/folder-layout.js';

export interface JobPlace {
  /** The project's folder. */
  readonly root: string;
  /** For files of the job: absolute, within the project's folder and so on its file system. */
  readonly workFolder: string;
  /** For notes between the tasks of the job: absolute, outside of every project. */
  readonly notes: string;
}

/** `notes` is the folder that has the notes of all jobs. */
export function jobPlace(notes: string, root: string, id: string): JobPlace {
  return { root, workFolder: join(root, WORK, id), notes: join(notes, id) };
}
