/** Makes the plan of a lab file, in slices of time. It changes nothing, and refuses (400) a file with all its faults. */
import { createHash } from 'node:crypto';
import type { StoredDrawing } from '../gns3-file/topology-schema.js';
import type { Slices } from '../projects/slices.js';
import { LabFileFaults } from './lab-file-faults.js';
import { noWork, type LabPlan, type PlanRequest } from './lab-plan.js';
import { LinkPlanning, linksBefore } from './link-planning.js';
import { NodePlanning, type PlanningState } from './node-planning.js';
import { differences, placeOf } from './wanted-node.js';

export async function planLab(request: PlanRequest, slices: Slices): Promise<LabPlan> {
  const state: PlanningState = { request, changes: [], work: noWork(), faults: new LabFileFaults() };
  const { file, record } = request;
  const nodes = new NodePlanning(state);
  nodes.planRemovals();
  for (const [name, spec] of Object.entries(file.nodes)) {
    nodes.plan(name, spec);
    await slices.rest();
  }
  const links = new LinkPlanning(state, nodes);
  for (const link of linksBefore(record.under_way, record.applied)) {
    links.noteBefore(link);
    await slices.rest();
  }
  for (const [index, link] of file.links.entries()) {
    links.noteWanted(link, index);
    await slices.rest();
  }
  links.planRemovals();
  await slices.rest();
  links.planLinks();
  await slices.rest();
  planDrawings(state);
  state.faults.check();
  const digest = createHash('sha256').update(JSON.stringify(state.changes)).digest('hex');
  return { changes: state.changes, work: state.work, digest };
}

function planDrawings({ request, work, changes }: PlanningState): void {
  const { file, record, topology, prunes } = request;
  const keyOf = new Map(Object.entries(record.drawings).map(([key, id]) => [id, key]));
  for (const { drawing_id: id } of topology.drawings.values()) {
    // A lab that was written as a file has the ids of its drawings as their keys.
    const isNamedById = file.drawings[id] !== undefined || record.applied?.drawings[id] !== undefined;
    const key = keyOf.get(id) ?? (isNamedById ? id : undefined);
    if (key === undefined ? !prunes : file.drawings[key] !== undefined) continue;
    work.removedDrawings.push(id);
    changes.push({
      action: 'remove',
      what: 'drawing',
      name: key ?? id,
      from: 'drawn',
      to: null,
      cost: 'live',
    });
  }
  for (const [key, { at, svg, rotation }] of Object.entries(file.drawings)) {
    const actual = topology.drawings.get(record.drawings[key] ?? key);
    const settings = { svg, ...placeOf(at), ...(rotation === undefined ? {} : { rotation }) };
    const told = { what: 'drawing', name: key, cost: 'live' } as const;
    if (actual === undefined) {
      work.newDrawings.push({ key, settings });
      changes.push({ ...told, action: 'create', from: null, to: 'drawn' });
    } else if (isChanged(actual, settings)) {
      work.changedDrawings.push({ id: actual.drawing_id, settings });
      changes.push({ ...told, action: 'change', from: 'drawn', to: 'drawn' });
    }
  }
}

function isChanged(actual: StoredDrawing, settings: Readonly<Record<string, unknown>>): boolean {
  return Object.keys(differences(actual, settings).to).length > 0;
}
