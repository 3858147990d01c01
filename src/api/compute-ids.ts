/** Ids and port numbers in the paths of the compute interface. */
import type { ComputeProject } from '../run/compute-project.js';
import type { LocalCompute } from '../run/local-compute.js';
import type { SwitchKind } from '../lab/kinds/node-kind.js';
import type { SwitchNode } from '../run/switches/switch-node.js';
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

export function findNode(compute: LocalCompute, kind: SwitchKind, path: NodePath): SwitchNode {
  const project = findProject(compute, path.project_id);
  checkId('Node', path.node_id);
  return project.node(kind, path.node_id);
}

export function checkId(what: 'Project' | 'Node', id: string): void {
  if (!uuid.safeParse(id).success) throw refusals.idNoUuid(what, id);
}

/** The adapter is ignored, because a switch has only one. Refuses (404) a port that is no number. */
export function portNumber(adapter: string, port: string, path: string): number {
  if (!/^\d+$/.test(adapter) || !/^\d+$/.test(port)) throw refusals.pathUnknown(path);
  const number = Number(port);
  if (number > LARGEST_PORT) throw refusals.portMissing(number);
  return number;
}
