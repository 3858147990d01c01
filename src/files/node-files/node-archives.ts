/** Archives that are unpacked into the folders of nodes: beside everything else, and in turns of their projects. */
import { randomUUID } from 'node:crypto';
import { FairTurns } from '../../base/threads/fair-turns.js';
import type { TaskRunner } from '../../base/threads/task-pool.js';
import { PLACING } from '../../lab/projects/folder-layout.js';
import type { NodeArchiveTasks } from './node-archive-tasks.js';
import type { NodeFile } from './node-folder.js';
import type { Project } from '../../lab/projects/project.js';

export interface NodeArchivesOptions {
  /** Threads that do nothing else, as many as may be at it at once. */
  readonly disk: TaskRunner<NodeArchiveTasks>;
  readonly atOnce: number;
}

const MOST_WAITING = 200;
const MOST_OF_A_PROJECT = 20;

export class NodeArchives {
  readonly #disk: NodeArchivesOptions['disk'];
  readonly #turns: FairTurns;

  constructor({ disk, atOnce }: NodeArchivesOptions) {
    this.#disk = disk;
    this.#turns = new FairTurns({
      atOnce,
      mostWaiting: MOST_WAITING,
      mostWaitingOfOne: MOST_OF_A_PROJECT,
    });
  }

  /** Unpacks the archive, a file of the temporary folder of the project, and removes it: all of it or nothing. */
  async unpack(project: Pick<Project, 'id' | 'placeFiles'>, place: NodeFile, archive: string): Promise<void> {
    const input = { ...place, archive, work: `${randomUUID()}${PLACING}` };
    try {
      await this.#turns.run(project.id, async () => {
        await this.#disk.run('unpackNodeFiles', input);
        await project.placeFiles(() => this.#disk.run('placeNodeFiles', input));
      });
    } finally {
      // What stays goes when the project is opened or closed.
      await this.#disk.run('removeArchive', input).catch(() => undefined);
    }
  }
}
