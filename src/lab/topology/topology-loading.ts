/** Loads the content of a project from the store into memory, and makes it run. */
import { refusals } from '../../base/errors/errors.js';
import { recordBatches } from '../../base/store/packing.js';
import type { Change, Store, StoredRecord } from '../../base/store/store.js';
import type { Channel } from '../../base/streams/channel.js';
import type { RunRight } from '../lab-run.js';
import { checkObjects } from '../projects/content-limit.js';
import { Slices } from '../projects/slices.js';
import type { StoredLink } from '../gns3-file/topology-schema.js';
import { entityKey, keysOf, sortOut, type EntityRecord, type LabRecords } from '../projects/records.js';
import { Topology, type TopologyContext } from './topology.js';

interface LoadingProject {
  readonly id: string;
  readonly channel: Channel;
  readonly right: RunRight;
  /** Stores what has to be mended first; its topology file follows. */
  readonly mend: (changes: readonly Change[]) => Promise<void>;
}

/** Works in slices. Announces every object, and warns the listeners of the project of what cannot run. */
export async function loadTopology(
  { store, context }: { readonly store: Pick<Store, 'loadPacked'>; readonly context: TopologyContext },
  { id: projectId, channel, mend, right }: LoadingProject,
): Promise<Topology> {
  const records = await storedRecords(store, projectId);
  if (records === undefined) throw refusals.projectUnknown(projectId);
  const removals = dropHalfLinks(projectId, records);
  if (removals.length > 0) await mend(removals);
  const { node, link, drawing } = records.entities;
  checkObjects(node.length + link.length + drawing.length);
  const topology = new Topology(projectId, channel, context, right);
  try {
    await topology.load(records, new Slices());
    topology.run.loaded?.();
    await topology.run.settled();
    return topology;
  } catch (error) {
    await topology.unload('removed');
    throw error;
  }
}

/** Takes out links that were left with fewer than two ends: no client shows or mends one. Returns what to store. */
function dropHalfLinks(projectId: string, { entities }: LabRecords): Change[] {
  const links = entities.link as EntityRecord<StoredLink>[];
  const halves = new Set(links.flatMap(({ object }) => (object.nodes.length < 2 ? [object.link_id] : [])));
  if (halves.size === 0) return [];
  const removals: Change[] = [];
  for (const kind of ['link', 'directed', 'capture'] as const) {
    const records = entities[kind] as EntityRecord<{ readonly link_id: string }>[];
    const kept = records.filter(({ object }) => !halves.has(object.link_id));
    records.splice(0, records.length, ...kept);
    for (const id of halves) removals.push({ remove: entityKey(projectId, kind, id) });
  }
  return removals;
}

export async function storedRecords(
  store: Pick<Store, 'loadPacked'>,
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
