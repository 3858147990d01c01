/** Ids and port numbers in the paths of the compute interface. */
import type { ComputeProject } from '../run/compute-project.js';
import type { LocalCompute } from '../run/local-compute.js';
import type { NodeKind } from '../lab/kinds/node-kind.js';
import type { ComputeNode } from '../run/nodes/compute-node.js';
import { refusals } from '../base/errors/errors.js';
import { uuid } from '../lab/gns3-file/topology-schema.js';

interface NodePath {
  readonly project_id: string;
  readonly node_id: string;
}

const LARGEST_PORT = 65_535;

/** Refuses an id that is no UUID (400), and an unknown project (404). */
export function findProject(compute: LocalCompute, id: string): ComputeProject {
  checkId('Project', id);
  return compute.projects.find(id);
}

export function findNode(compute: LocalCompute, kind: NodeKind, path: NodePath): ComputeNode {
  const project = findProject(compute, path.project_id);
  checkId('Node', path.node_id);
  return project.node(kind, path.node_id);
}

export function checkId(what: 'Project' | 'Node', id: string): void {
  if (!uuid.safeParse(id).success) throw refusals.idNoUuid(what, id);
}

interface PortPath extends NodePath {
  readonly adapter_number: string;
  readonly port_number: string;
}

/** The node, and the port of its device. Refuses (404) a port that is no number, and one that the node does not have. */
export function findPort(
  compute: LocalCompute,
  kind: NodeKind,
  wanted: PortPath,
  path: string,
): { readonly node: ComputeNode; readonly port: number } {
  const { adapter_number: adapter, port_number: port } = wanted;
  if (!/^\d+$/.test(adapter) || !/^\d+$/.test(port)) throw refusals.pathUnknown(path);
  if (Number(port) > LARGEST_PORT) throw refusals.portMissing(Number(port));
  const node = findNode(compute, kind, wanted);
  return { node, port: node.portAt(Number(adapter), Number(port)) };
}
