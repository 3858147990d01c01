/**
 * What clients do to links that has to wait for what runs: filters are checked before they are stored, and a link
 * is announced when it is connected.
 */
import { acceptFilters } from './filters.js';
import {
  confirmLink,
  createLink,
  directFilters,
  findLink,
  updateLink,
  type LinkRequest,
  type NewLink,
} from './link-changes.js';
import type { DirectedRequest } from './directed-filters.js';
import type { Client } from '../lab-run.js';
import { findNode } from './node-changes.js';
import type { Project } from '../projects/project.js';

/** Returns the text of the link. One that cannot be connected leaves nothing, and is never announced. */
export async function makeLink(project: Project, client: Client, wanted: NewLink): Promise<string> {
  await checkFilters(project, client, wanted.nodes[0]?.node_id, wanted.filters);
  const id = await project.change((topology, transaction) => createLink(topology, transaction, wanted));
  const failure = project.topology.run.takeFailure(id);
  const text = await project.change((topology, transaction) => {
    const link = findLink(topology, id);
    if (failure !== undefined) topology.removeLink(transaction, link);
    else confirmLink(topology, transaction, link);
    return topology.links.textOf(link);
  });
  if (failure !== undefined) throw failure;
  return text;
}

/** Returns the text of the link. */
export async function changeLink(
  project: Project,
  client: Client,
  id: string,
  wanted: LinkRequest,
): Promise<string> {
  await checkFilters(project, client, findLink(project.topology, id).nodes[0]?.node_id, wanted.filters);
  return project.change((topology, transaction) => updateLink(topology, transaction, id, wanted));
}

/** Returns the text of the directed filters. */
export async function changeDirection(
  project: Project,
  client: Client,
  id: string,
  wanted: DirectedRequest,
): Promise<string> {
  const nodeId = findLink(project.topology, id).nodes[0]?.node_id;
  for (const filters of [wanted.forward, wanted.backward])
    await checkFilters(project, client, nodeId, filters);
  return project.change((topology, transaction) => directFilters(topology, transaction, id, wanted));
}

/** Refuses what the change would refuse, and expressions that do not compile. */
async function checkFilters(
  { topology }: Project,
  client: Client,
  nodeId: string | undefined,
  filters: Readonly<Record<string, unknown>> | undefined,
): Promise<void> {
  if (filters === undefined) return;
  const accepted = acceptFilters(filters);
  if (nodeId !== undefined) await topology.run.checkFilters(findNode(topology, nodeId), accepted, client);
}
