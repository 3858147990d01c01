/**
 * Moves a node without files to another compute. It is made there beside the one that runs; one commit stores the new compute, and
 * only then does the old one go. The computes are on record as visited before anything is made, so that whoever opens the project
 * after a crash removes from them what is not wanted.
 */
import { refusals } from '../../base/errors/errors.js';
import { isSwitchKind, servedKind } from '../kinds/node-kinds.js';
import type { StoredNode } from '../gns3-file/topology-schema.js';
import type { Project } from '../projects/project.js';
import type { Transaction } from '../projects/transaction.js';
import { undirected } from './link-filters.js';
import { findNode } from './nodes.js';
import type { Topology } from './topology.js';

/** Returns the text of the node when all of it and of its links runs there, or has said by a warning why not. */
export async function moveNode(project: Project, id: string, computeId: string): Promise<string> {
  const { topology, node } = await project.change((open, transaction) => {
    const found = findMovable(open, id);
    checkTarget(open, found, computeId);
    for (const visited of [found.compute_id, computeId]) {
      if (open.context.isHere(visited) || open.visited.get(visited) !== undefined) continue;
      open.visited.put(transaction, visited, { compute_id: visited });
    }
    return { topology: open, node: found };
  });
  const { run } = topology;
  const beside = { ...node, compute_id: computeId, console: null };
  await run.checkAble(node.node_type, computeId);
  await run.makeBeside?.(beside);
  try {
    await project.change((now, transaction) => {
      if (now !== topology) throw refusals.nodeNotMoved(node.name, 'its project was closed meanwhile');
      putElsewhere(now, transaction, findMovable(now, id), computeId);
    });
  } catch (error) {
    run.dropBeside?.(beside);
    throw error;
  }
  await run.settled();
  // A link that has come back to this server is made when its ends elsewhere are gone.
  await run.settled();
  const moved = topology.nodes.get(id);
  if (moved === undefined) throw refusals.nodeUnknown(id);
  project.nodeChanged(id);
  return topology.nodes.textOf(moved);
}

function isMovable({ node_type: type }: Pick<StoredNode, 'node_type'>): boolean {
  const kind = servedKind(type);
  return kind !== undefined && isSwitchKind(kind);
}

/** Refuses (404, 409) a node that cannot be moved. */
export function findMovable(topology: Topology, id: string): StoredNode {
  const node = findNode(topology, id);
  const { node_type: type, name } = node;
  if (!isMovable(node) || topology.kindOf(node) === undefined) throw refusals.nodeNotMovable(name, type);
  for (const linkId of topology.portUse.linksOf(id)) {
    if (topology.storedCaptures.get(linkId) !== undefined) throw refusals.nodeMovedWhileCaptured(name);
  }
  return node;
}

/** Refuses (404, 409) a compute that cannot have the node, and the one that it is on. */
function checkTarget({ context, projectId }: Topology, node: StoredNode, computeId: string): void {
  if (node.compute_id === computeId || (context.isHere(node.compute_id) && context.isHere(computeId)))
    throw refusals.nodeThereAlready(node.name, computeId);
  context.checkCompute(computeId, `POST /projects/${projectId}/nodes/${node.node_id}/move`);
}

function putElsewhere(
  topology: Topology,
  transaction: Transaction,
  node: StoredNode,
  computeId: string,
): void {
  const kind = topology.kindOf(node);
  if (kind === undefined) throw refusals.nodeNotMovable(node.name, node.node_type);
  const hasPort = topology.context.isHere(computeId) && kind.consoleTypes.length > 0;
  const console = hasPort ? topology.reserveConsole(transaction, node.console) : null;
  const moved = { ...node, compute_id: computeId, console };
  transaction.onStored(() => {
    const links = [...topology.portUse.linksOf(node.node_id)].flatMap((linkId) => {
      const link = topology.links.get(linkId);
      return link === undefined
        ? []
        : [{ link, directed: topology.directed.get(linkId) ?? undirected(linkId) }];
    });
    topology.run.moved?.(moved, links);
    topology.releaseNumbers(kind, node);
  });
  topology.nodes.put(transaction, node.node_id, moved, { action: 'updated' });
}
