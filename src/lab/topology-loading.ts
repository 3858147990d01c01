/** How the content of a project comes from the store into memory, and runs. */
import { refusals } from '../errors.js';
import type { Channel } from './channel.js';
import type { CaptureHome } from './link-captures.js';
import type { ProjectServices } from './project-services.js';
import { keysOf, sortOut, type LabRecords } from './records.js';
import { Topology } from './topology.js';

/** Announces everything; what could not be made to run is told to the project's listeners. */
export async function loadTopology(
  { store, surroundings }: Pick<ProjectServices, 'store' | 'surroundings'>,
  projectId: string,
  channel: Channel,
  home: (loaded: () => Topology) => CaptureHome,
): Promise<Topology> {
  const records = await storedRecords(store, projectId);
  if (records === undefined) throw refusals.projectUnknown(projectId);
  const topology: Topology = new Topology(
    projectId,
    channel,
    surroundings,
    home(() => topology),
  );
  topology.load(records);
  await topology.run.settled();
  return topology;
}

export async function storedRecords(
  store: ProjectServices['store'],
  projectId: string,
): Promise<LabRecords | undefined> {
  return sortOut(await store.load(...keysOf(projectId)));
}
