/** Loads the content of a project from the store into memory, and makes it run. */
import { refusals } from '../../base/errors/errors.js';
import { recordBatches } from '../../base/store/packing.js';
import type { Store, StoredRecord } from '../../base/store/store.js';
import type { Channel } from '../../base/streams/channel.js';
import { checkObjects } from '../projects/content-limit.js';
import { Slices } from '../projects/slices.js';
import { keysOf, sortOut, type LabRecords } from '../projects/records.js';
import { Topology, type TopologyContext } from './topology.js';

/** Works in slices. Announces every object, and warns the listeners of the project of what cannot run. */
export async function loadTopology(
  { store, context }: { readonly store: Store; readonly context: TopologyContext },
  projectId: string,
  channel: Channel,
): Promise<Topology> {
  const records = await storedRecords(store, projectId);
  if (records === undefined) throw refusals.projectUnknown(projectId);
  const { node, link, drawing } = records.entities;
  checkObjects(node.length + link.length + drawing.length);
  const topology = new Topology(projectId, channel, context);
  try {
    await topology.load(records, new Slices());
    await topology.run.settled();
    return topology;
  } catch (error) {
    await topology.unload();
    throw error;
  }
}

export async function storedRecords(store: Store, projectId: string): Promise<LabRecords | undefined> {
  const slices = new Slices();
  const records: StoredRecord[] = [];
  for (const batch of recordBatches(await store.loadPacked(...keysOf(projectId)))) {
    for (const record of batch) records.push(record);
    await slices.rest();
  }
  return sortOut(records);
}
