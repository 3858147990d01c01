/**
 * Snapshots of labs that run. All nodes stand still while their memory is written and their files are kept, so that disks
 * and memory are of one moment. A memory is loaded only as the store knows it: a manifest may have come from anywhere.
 */
import { messageOf, refusals } from '../base/errors/errors.js';
import type { Packed } from '../base/store/store.js';
import type { TaskRunner } from '../base/threads/task-pool.js';
import type { HeldNodes, HoldPlan, RanNode } from '../lab/lab-run.js';
import type { Project } from '../lab/projects/project.js';
import type { FreezeTasks } from './freeze-tasks.js';
import type { KnownMemories } from './known-memories.js';
import type { JobPlace } from './job-place.js';
import { keptMemory, newMemoryFolder } from './memory-place.js';
import type { Snapshot } from './snapshot.js';

interface RunningLabsOptions {
  readonly longJobs: TaskRunner<FreezeTasks>;
  readonly memories: KnownMemories;
}

/** The wish of a client for a snapshot of a lab that runs. */
export interface HoldRequest {
  /** Whether the nodes may be held for as long as it takes. */
  readonly isLong: boolean;
}

/** The lab as it was while the nodes stood still. */
interface KeptLab {
  readonly records: Packed;
  readonly ran: readonly RanNode[];
}

/** The bytes that are written in a second while nodes are held; disks of servers write faster. */
const BYTES_PER_SECOND = 200 * 1024 * 1024;
const LONGEST_HOLD_S = 10;

export class RunningLabs {
  readonly #options: RunningLabsOptions;

  constructor(options: RunningLabsOptions) {
    this.#options = options;
  }

  /** Keeps memory and files of one moment in the work folder. Refuses (409) before it holds anything. */
  async keep(
    project: Project,
    place: JobPlace,
    { isLong, snapshotId, knownTo }: HoldRequest & { snapshotId: string; knownTo: string | undefined },
  ): Promise<KeptLab> {
    const { longJobs, memories } = this.#options;
    const plan = await project.topology.run.planHold();
    const written = plan.folders;
    const copied = await longJobs.run('prepareHold', { ...place, written, memoryBytes: plan.bytes });
    const seconds = Math.ceil((plan.bytes + copied) / BYTES_PER_SECOND);
    if (seconds > LONGEST_HOLD_S && !isLong) throw refusals.holdTooLong(seconds, LONGEST_HOLD_S);
    const kept = await project.still(async (records) => {
      const begun = performance.now();
      const held = await project.topology.run.hold(newMemoryFolder(place.workFolder));
      try {
        checkPlanned(held, plan);
        await longJobs.run('freezeProject', { ...place, knownTo, isForOthers: false, written });
      } finally {
        await held.release();
      }
      const message = `The nodes stood still for ${Math.round(performance.now() - begun)} ms`;
      project.tell('log.info', JSON.stringify({ message }));
      return { records, ran: held.ran };
    });
    for (const warning of plan.warnings) project.warn(warning);
    const saved = kept.ran.flatMap(({ node_id: nodeId, memory }) =>
      memory === undefined ? [] : [{ snapshotId, nodeId, memory }],
    );
    await memories.keep(project.id, saved);
    return kept;
  }

  /** Starts the nodes of a restored snapshot as they ran. Warns of those that cannot be. */
  async startAgain(project: Project, snapshot: Snapshot, ran: readonly RanNode[]): Promise<void> {
    const known = await this.#options.memories.of(project.id, snapshot.snapshot_id);
    const { run } = project.topology;
    await Promise.all(
      ran.map(async ({ node_id: id, isSuspended, memory }) => {
        const { name = id } = project.topology.nodes.get(id) ?? {};
        try {
          const saved = known.find(({ nodeId }) => nodeId === id)?.memory;
          if (memory !== undefined && saved?.digest !== memory.digest)
            throw refusals.memoryNotLoaded(name, 'this server has not saved it');
          const { folder } = project.place;
          const kept = saved && keptMemory(folder, snapshot.snapshot_id, id, saved);
          await run.startAgain(id, isSuspended, kept);
        } catch (error) {
          project.warn(`${name} ran when the snapshot was made, and is stopped: ${messageOf(error)}`);
        }
      }),
    );
  }
}

/** A node that has started since the plan was made writes into files that are not kept as those of a program. */
function checkPlanned({ ran }: HeldNodes, { folders }: HoldPlan): void {
  const isPlanned = ({ node_id: id }: RanNode): boolean =>
    folders.some((folder) => folder.endsWith(`/${id}`));
  if (!ran.every(isPlanned)) throw refusals.projectRunning();
}
