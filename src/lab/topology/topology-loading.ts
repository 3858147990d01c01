/** How the content of a project comes from the store into memory, and runs. */
import { refusals } from '../../base/errors/errors.js';
import { recordBatches } from '../../base/store/packing.js';
import type { StoredRecord } from '../../base/store/store.js';
import type { Channel } from '../../base/streams/channel.js';
import { checkObjects } from '../projects/content-limit.js';
import { Slices } from '../projects/slices.js';
import type { ProjectServices } from '../projects/project-services.js';
import { keysOf, sortOut, type LabRecords } from '../projects/records.js';
import { Topology } from './topology.js';

/** In slices. Announces everything; what could not be made to run is told to the project's listeners. */
export async function loadTopology(
  { store, surroundings }: Pick<ProjectServices, 'store' | 'surroundings'>,
  projectId: string,
  channel: Channel,
): Promise<Topology> {
  const records = await storedRecords(store, projectId);
  if (records === undefined) throw refusals.projectUnknown(projectId);
  const { node, link, drawing } = records.entities;
  checkObjects(node.length + link.length + drawing.length);
  const topology = new Topology(projectId, channel, surroundings);
  try {
    await topology.load(records, new Slices());
    await topology.run.settled();
    return topology;
  } catch (error) {
    await topology.unload();
    throw error;
  }
}

export async function storedRecords(
  store: ProjectServices['store'],
  projectId: string,
): Promise<LabRecords | undefined> {
  const slices = new Slices();
  const records: StoredRecord[] = [];
  for (const batch of recordBatches(await store.loadPacked(...keysOf(projectId)))) {
    for (const record of batch) records.push(record);
    await slices.rest();
  }
  return sortOut(records);
}
