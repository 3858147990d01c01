/** Nodes that forbid a snapshot, a copy or an export of their project. */
import { refusals, shortList } from '../base/errors/errors.js';
import type { Project } from '../lab/projects/project.js';
import type { StoredNode } from '../lab/gns3-file/topology-schema.js';
import { kindOfType } from '../lab/kinds/node-kinds.js';

/** Refuses (409) a project with a running node that may write to files. */
export function checkStopped(project: Pick<Project, 'isOpen' | 'topology'>): void {
  if (hasRunning(project)) throw refusals.projectRunning();
  if (!project.isOpen) return;
  const { topology } = project;
  const away = [...topology.nodes.values()].filter(
    (node) =>
      !topology.context.isHere(node.compute_id) &&
      topology.kindOf(node) !== undefined &&
      !kindOfType(node.node_type).alwaysRuns,
  );
  if (away.length > 0)
    throw refusals.notOnOtherComputes('A copy of files', shortList(away.map(({ name }) => name)));
}

/** Whether a node of the project runs that may write to files. */
export function hasRunning(project: Pick<Project, 'isOpen' | 'topology'>): boolean {
  if (!project.isOpen) return false;
  const { topology } = project;
  return [...topology.nodes.values()].some(
    (node) => !kindOfType(node.node_type).alwaysRuns && topology.statusOf(node) !== 'stopped',
  );
}

/** Refuses (409) machines whose content lies outside of the project's folder. */
export function checkExportable(nodes: readonly StoredNode[]): void {
  const isClone = ({ node_type: type, properties = {} }: StoredNode): boolean =>
    type === 'virtualbox' && properties['linked_clone'] === true;
  if (nodes.some(isClone)) throw refusals.exportOfClone();
  const machine = nodes.find(({ node_type: type }) => kindOfType(type).keepsContentElsewhere);
  if (machine !== undefined) throw refusals.exportOfMachine(machine.node_type);
}
