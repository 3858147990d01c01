/** Unpacks archives into the folders of nodes, in threads of its own; projects take turns. */
import { randomUUID } from 'node:crypto';
import { FairTurns } from '../../base/threads/fair-turns.js';
import type { TaskRunner } from '../../base/threads/task-pool.js';
import { PLACING } from '../../lab/projects/folder-layout.js';
import type { NodeArchiveTasks } from './node-archive-tasks.js';
import type { NodeFile } from './node-folder.js';
import type { Project } from '../../lab/projects/project.js';

interface NodeArchivesOptions {
  /** Threads for this alone, as many as `atOnce`. */
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

  /** Unpacks the archive, a file in the temporary folder of the project, all or nothing, and removes it. */
  async unpack(project: Pick<Project, 'id' | 'placeFiles'>, place: NodeFile, archive: string): Promise<void> {
    const input = { ...place, archive, work: `${randomUUID()}${PLACING}` };
    try {
      await this.#turns.run(project.id, async () => {
        await this.#disk.run('unpackNodeFiles', input);
        await project.placeFiles(() => this.#disk.run('placeNodeFiles', input));
      });
    } finally {
      // Remains are deleted when the project is opened or closed.
      await this.#disk.run('removeArchive', input).catch(() => undefined);
    }
  }
}
