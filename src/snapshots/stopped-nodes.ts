/** Which nodes keep a project from being copied, exported and put into a snapshot (contract A5.4, C.2). */
import { refusals } from '../base/errors/errors.js';
import { nodeStatus } from '../lab/topology/node-view.js';
import type { Project } from '../lab/projects/project.js';
import type { StoredNode } from '../lab/gns3-file/topology-schema.js';

/** They run for as long as their project is open, and what they hold lies in no file. */
const RUNS_ALWAYS: ReadonlySet<StoredNode['node_type']> = new Set([
  'atm_switch',
  'cloud',
  'ethernet_hub',
  'ethernet_switch',
  'frame_relay_switch',
  'nat',
]);

/** Refuses (409) a project with a node that writes to its files. */
export function checkStopped(project: Pick<Project, 'isOpen' | 'topology'>): void {
  if (!project.isOpen) return;
  const { topology } = project;
  for (const node of topology.nodes.values()) {
    if (RUNS_ALWAYS.has(node.node_type)) continue;
    if (nodeStatus(topology.kindOf(node)) !== 'stopped') throw refusals.projectRunning();
  }
}

/** Refuses (409) machines whose content is not in the project's folder. */
export function checkExportable(nodes: readonly StoredNode[]): void {
  const isClone = ({ node_type: type, properties = {} }: StoredNode): boolean =>
    type === 'virtualbox' && properties['linked_clone'] === true;
  if (nodes.some(isClone)) throw refusals.exportOfClone();
  const machine = nodes.find(({ node_type: type }) => type === 'virtualbox' || type === 'vmware');
  if (machine !== undefined) throw refusals.exportOfMachine(machine.node_type);
}
